"""A chat model that answers every call after SECONDS with BYTES of text. /stats returns the time of its last answer.

slow_server.py SECONDS BYTES prints its address. One thread, no library: 10,000 connections have to fit beside what is measured."""
import asyncio, json, sys, time

seconds, size = float(sys.argv[1]), int(sys.argv[2])
text = ("it is on its way, " * (size // 18 + 1))[:size]
reply = json.dumps({
    "id": "1", "object": "chat.completion", "model": "slow", "usage": {"prompt_tokens": 20, "completion_tokens": size // 4},
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
}).encode()
last_reply = 0.0


def response(body):
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


async def serve(reader, writer):
    global last_reply
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
            if head.startswith(b"get /stats"):
                writer.write(response(json.dumps({"last_reply": last_reply}).encode()))
            else:
                await asyncio.sleep(seconds)
                writer.write(response(reply))
                last_reply = time.time()
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=16_384)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()

asyncio.run(main())
