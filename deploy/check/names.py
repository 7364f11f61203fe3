"""A name server for the containers of a check, like that of an engine: it resolves only names of services."""

import socket
import struct
import threading

# The usual address of an engine's name server, as in a container's resolv.conf.
ADDRESS = "127.0.0.11"


def serve(table: dict[str, list[str]]) -> None:
    """Answers until the process ends. The table can change meanwhile."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind((ADDRESS, 53))

    def answer_all() -> None:
        while True:
            query, peer = listener.recvfrom(512)
            listener.sendto(answer(query, table), peer)

    threading.Thread(target=answer_all, daemon=True).start()


def answer(query: bytes, table: dict[str, list[str]]) -> bytes:
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    question = query[12 : at + 5]
    (kind,) = struct.unpack(">H", query[at + 1 : at + 3])
    found = table.get(".".join(labels).lower())
    # Type 1 is an address; a name that is there has no records of other types.
    records = found or [] if kind == 1 else []
    head = query[:2] + struct.pack(">HHHHH", 0x8580 if found is not None else 0x8583, 1, len(records), 0, 0)
    record = lambda address: struct.pack(">HHHIH", 0xC00C, 1, 1, 5, 4) + socket.inet_aton(address)
    return head + question + b"".join(map(record, records))
