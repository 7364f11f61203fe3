"""An A2A server of the official SDK: a chunked artifact, a question back, a tool of the scenario, a failed task."""

import asyncio
import json
import sys
import urllib.request

import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, Part, Task, TaskState, TaskStatus
from starlette.applications import Starlette

PORT = int(sys.argv[1])
VERSIONS = sys.argv[2:]


def call_tool(url, name, arguments):
    body = json.dumps(arguments).encode()
    request = urllib.request.Request(f"{url}/{name}", body, {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))


class Shop(AgentExecutor):
    async def execute(self, context, queue):
        said = context.get_user_input().lower()
        if context.current_task is None:
            status = TaskStatus(state=TaskState.TASK_STATE_SUBMITTED)
            await queue.enqueue_event(Task(id=context.task_id, context_id=context.context_id, status=status))
        task = TaskUpdater(queue, context.task_id, context.context_id)
        message = lambda text: task.new_agent_message([Part(text=text)])
        await task.start_work(message("Let me look."))
        if "return" in said:
            return await task.update_status(TaskState.TASK_STATE_INPUT_REQUIRED, message("Which order?"))
        if "explode" in said:
            return await task.failed(message("The warehouse is on fire."))
        tools = dict(context.message.metadata).get("tools_url")
        found = await asyncio.to_thread(call_tool, tools, "find_order", {"id": 7}) if tools else {"status": "unknown"}
        for n, piece in enumerate(["Order 7 ", f"is {found['status']}", "."]):
            await task.add_artifact([Part(text=piece)], artifact_id="answer", append=n > 0, last_chunk=n == 2)
            await asyncio.sleep(0.02)
        await task.complete()

    async def cancel(self, context, queue):
        raise NotImplementedError


interfaces = [
    AgentInterface(url=f"http://127.0.0.1:{PORT}/rpc", protocol_binding="JSONRPC", protocol_version=version)
    for version in VERSIONS
]
card = AgentCard(name="shop", description="Orders.", version="1", supported_interfaces=interfaces)
card.capabilities.CopyFrom(AgentCapabilities(streaming=True))
handler = DefaultRequestHandler(agent_executor=Shop(), task_store=InMemoryTaskStore(), agent_card=card)
routes = create_agent_card_routes(card) + create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True)
uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=PORT, log_level="warning")
