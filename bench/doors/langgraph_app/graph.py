"""A LangGraph agent with one tool; a model without weights answers, token by token."""

import json
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult, ChatGeneration
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


class Model(BaseChatModel):
    @property
    def _llm_type(self):
        return "shop"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        chunks = list(self._stream(messages))
        message = sum((chunk.message for chunk in chunks[1:]), chunks[0].message)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(self, messages, stop=None, run_manager=None, **kwargs):
        asked = [message.text.lower() for message in messages if isinstance(message, HumanMessage)]
        if "explode" in asked[-1]:
            raise RuntimeError("the warehouse is on fire")
        if isinstance(messages[-1], ToolMessage):
            pieces = ["Order 7 ", f"is {messages[-1].text}", "."]
        elif "order" in asked[-1]:
            call = {"name": "find_order", "args": json.dumps({"id": 7}), "id": f"call-{uuid4()}", "index": 0}
            return (yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call])))
        else:
            pieces = [f"You wrote {len(asked)} messages", "."]
        for piece in pieces:
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=piece))
            if run_manager:
                run_manager.on_llm_new_token(piece, chunk=chunk)
            yield chunk


@tool
def find_order(id: int) -> str:
    """Find an order."""
    return "shipped"


async def agent(state: MessagesState):
    return {"messages": [await Model().ainvoke(state["messages"])]}


graph = StateGraph(MessagesState)
graph.add_node("agent", agent)
graph.add_node("tools", ToolNode([find_order]))
graph.add_edge(START, "agent")
graph.add_conditional_edges("agent", tools_condition)
graph.add_edge("tools", "agent")
graph = graph.compile()
