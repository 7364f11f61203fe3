"""A pydantic-ai agent behind its AG-UI adapter; a function plays the model, so that no key is needed."""

import json
import sys

import uvicorn
from pydantic_ai import Agent
from pydantic_ai.messages import ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from starlette.applications import Starlette
from starlette.routing import Route


async def model(messages, info):
    parts = [part for message in messages for part in message.parts]
    results = [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
    if results:
        for piece in ["Order 7 ", f"is {results[0]}", "."]:
            yield piece
        return
    asked = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
    if "explode" in asked[-1]:
        raise RuntimeError("the warehouse is on fire")
    if "order" in asked[-1]:
        arguments = json.dumps({"id": 7})
        yield {0: DeltaToolCall(name="find_order", json_args=arguments[:5], tool_call_id=f"call-{len(asked)}")}
        yield {0: DeltaToolCall(json_args=arguments[5:])}
    else:
        yield f"You wrote {len(asked)} messages."


agent = Agent(FunctionModel(stream_function=model))


@agent.tool_plain
def find_order(id: int) -> str:
    return "shipped"


async def ag_ui(request):
    return await AGUIAdapter.dispatch_request(request, agent=agent)


async def vercel(request):
    return await VercelAIAdapter.dispatch_request(request, agent=agent)


routes = [Route("/ag-ui", ag_ui, methods=["POST"]), Route("/vercel", vercel, methods=["POST"])]
uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
