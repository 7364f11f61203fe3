#!/usr/bin/env python3
"""Asks `gabfest mock` through the official SDKs: the mock must accept their requests, and they must understand its answers.

    python3 -m venv venv && venv/bin/pip install anthropic==2.12.0 openai==3.54.0 google-genai==3.4.0 boto3==1.44.5
    venv/bin/python bench/dialects.py target/debug/gabfest

Prints one line for each SDK and way of asking. Exits with 1 if one of them fails.
"""
import json
import re
import subprocess
import sys

QUESTION = "What is the weather in Oslo?"
TOOL = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
RESULT = '{"celsius": 3}'


def serve(binary):
    mock = subprocess.Popen([binary, "mock", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    return mock, re.search(r"http://[0-9.:]+", mock.stdout.readline()).group()


def ask_anthropic(address):
    from anthropic import Anthropic

    client = Anthropic(api_key="k", base_url=address, max_retries=0)
    tools = [{"name": "get_weather", "description": "", "input_schema": TOOL}]
    call = {"model": "mock", "max_tokens": 500, "system": "Be brief.", "tools": tools}
    chat = [{"role": "user", "content": QUESTION}]
    first = client.messages.create(messages=chat, **call)
    use = next(block for block in first.content if block.type == "tool_use")
    assert first.stop_reason == "tool_use" and "Oslo" in json.dumps(use.input), first
    chat += [{"role": "assistant", "content": first.content},
             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": RESULT}]}]
    whole = client.messages.create(messages=chat, **call)
    with client.messages.stream(messages=chat, **call) as stream:
        text = "".join(stream.text_stream)
        last = stream.get_final_message()
    assert text == whole.content[0].text and last.usage.output_tokens == whole.usage.output_tokens, (text, whole)
    return text, whole.usage.input_tokens, whole.usage.output_tokens


def ask_responses(address):
    from openai import OpenAI

    client = OpenAI(api_key="k", base_url=address + "/v1", max_retries=0)
    tools = [{"type": "function", "name": "get_weather", "description": "", "parameters": TOOL, "strict": False}]
    call = {"model": "mock", "instructions": "Be brief.", "tools": tools, "store": False}
    first = client.responses.create(input=QUESTION, **call)
    use = next(item for item in first.output if item.type == "function_call")
    chat = [{"role": "user", "content": QUESTION}, use.model_dump(exclude_none=True),
            {"type": "function_call_output", "call_id": use.call_id, "output": RESULT}]
    whole = client.responses.create(input=chat, **call)
    events = list(client.responses.create(input=chat, stream=True, **call))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == whole.output_text and events[-1].type == "response.completed", (text, whole)
    return text, whole.usage.input_tokens, whole.usage.output_tokens


def ask_azure(address):
    from openai import AzureOpenAI

    client = AzureOpenAI(api_key="k", azure_endpoint=address, api_version="2024-10-21", max_retries=0)
    chat = [{"role": "user", "content": QUESTION}]
    whole = client.chat.completions.create(model="d", messages=chat)
    pieces = client.chat.completions.create(model="d", messages=chat, stream=True)
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert text == whole.choices[0].message.content, (text, whole)
    return text, whole.usage.prompt_tokens, whole.usage.completion_tokens


def ask_gemini(address):
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=address))
    declared = types.FunctionDeclaration(name="get_weather", description="", parameters_json_schema=TOOL)
    config = types.GenerateContentConfig(
        system_instruction="Be brief.", max_output_tokens=500, tools=[types.Tool(function_declarations=[declared])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True))
    chat = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
    first = client.models.generate_content(model="mock-3", contents=chat, config=config)
    use = first.function_calls[0]
    result = types.Part.from_function_response(name=use.name, response=json.loads(RESULT))
    chat += [first.candidates[0].content, types.Content(role="user", parts=[result])]
    whole = client.models.generate_content(model="mock-3", contents=chat, config=config)
    pieces = client.models.generate_content_stream(model="mock-3", contents=chat, config=config)
    text = "".join(piece.text or "" for piece in pieces)
    assert text == whole.text, (text, whole)
    usage = whole.usage_metadata
    return text, usage.prompt_token_count, usage.candidates_token_count


def ask_bedrock(address):
    import boto3

    # A bearer is for HTTPS only; the mock takes a signed call too.
    keys = {"aws_access_key_id": "k", "aws_secret_access_key": "k"}
    client = boto3.client("bedrock-runtime", region_name="eu-central-1", endpoint_url=address, **keys)
    spec = {"name": "get_weather", "description": "The weather.", "inputSchema": {"json": TOOL}}
    call = {"modelId": "mock", "system": [{"text": "Be brief."}], "toolConfig": {"tools": [{"toolSpec": spec}]},
            "inferenceConfig": {"maxTokens": 500}}
    chat = [{"role": "user", "content": [{"text": QUESTION}]}]
    first = client.converse(messages=chat, **call)
    use = next(block["toolUse"] for block in first["output"]["message"]["content"] if "toolUse" in block)
    chat += [first["output"]["message"],
             {"role": "user", "content": [{"toolResult": {"toolUseId": use["toolUseId"], "content": [{"text": RESULT}]}}]}]
    whole = client.converse(messages=chat, **call)
    events = list(client.converse_stream(messages=chat, **call)["stream"])
    deltas = (event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event)
    text = "".join(delta.get("text", "") for delta in deltas)
    assert text == whole["output"]["message"]["content"][0]["text"] and "metadata" in events[-1], (text, events)
    return text, whole["usage"]["inputTokens"], whole["usage"]["outputTokens"]


def main():
    mock, address = serve(sys.argv[1] if len(sys.argv) > 1 else "target/debug/gabfest")
    failed = False
    try:
        for ask in (ask_anthropic, ask_responses, ask_azure, ask_gemini, ask_bedrock):
            try:
                text, tokens_in, tokens_out = ask(address)
                print(f"ok    {ask.__name__[4:]:10} {tokens_in:4} in {tokens_out:4} out  {text[:60]}")
            except Exception as error:  # an SDK that cannot read the mock is the finding
                failed = True
                print(f"FAIL  {ask.__name__[4:]:10} {type(error).__name__}: {str(error)[:400]}")
    finally:
        mock.terminate()
    sys.exit(failed)


if __name__ == "__main__":
    main()
