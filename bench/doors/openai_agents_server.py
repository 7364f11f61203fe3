"""An OpenAI Agents app behind FastAPI: it streams the SDK's own events. Its built-in model needs no key."""

import json
import sys

import uvicorn
from agents import Agent, Model, ModelResponse, Runner, SQLiteSession, Usage, function_tool, set_tracing_disabled
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai.types.responses import Response, ResponseCompletedEvent, ResponseFunctionToolCall, ResponseOutputMessage
from openai.types.responses import ResponseOutputText, ResponseTextDeltaEvent
from pydantic import BaseModel

set_tracing_disabled(True)


class Shop(Model):
    async def get_response(self, *args, **kwargs):
        raise NotImplementedError

    async def stream_response(self, system_instructions, input, *args, **kwargs):
        last = input[-1] if isinstance(input, list) else {"content": input}
        said = str(last.get("content", "")).lower()
        if "explode" in said:
            raise RuntimeError("the warehouse is on fire")
        if "order" in said and last.get("type") != "function_call_output":
            arguments = json.dumps({"id": 7})
            output = ResponseFunctionToolCall(call_id="call-1", name="find_order", arguments=arguments, type="function_call")
        else:
            words = ["Order 7 ", f"is {last['output']}", "."] if "output" in last else [f"I know {len(input)} items."]
            for n, word in enumerate(words):
                yield ResponseTextDeltaEvent(type="response.output_text.delta", item_id="m", output_index=0, logprobs=[],
                                             content_index=0, sequence_number=n, delta=word)
            text = ResponseOutputText(type="output_text", text="".join(words), annotations=[])
            output = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        response = Response(id="r", created_at=0, model="shop", object="response", output=[output],
                            parallel_tool_calls=False, tool_choice="auto", tools=[])
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=9)


@function_tool
def find_order(id: int) -> str:
    return "shipped"


class Said(BaseModel):
    session: str
    message: str


app = FastAPI()
agent = Agent(name="shop", model=Shop(), tools=[find_order])
sessions = {}


@app.post("/chat")
async def chat(said: Said):
    session = sessions.setdefault(said.session, SQLiteSession(said.session))

    async def events():
        try:
            async for event in Runner.run_streamed(agent, said.message, session=session).stream_events():
                if event.type == "raw_response_event":
                    yield f"event: raw\ndata: {event.data.model_dump_json()}\n\n"
                elif event.type == "run_item_stream_event":
                    item = event.item.to_input_item()
                    yield f"event: {event.name}\ndata: {json.dumps(item)}\n\n"
            yield "event: end\ndata: {}\n\n"
        except Exception as error:
            yield f"event: error\ndata: {json.dumps({'message': str(error)})}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
