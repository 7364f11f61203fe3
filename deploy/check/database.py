"""A PostgreSQL of this machine in place of the image `postgres`: the same variables, in a sandbox without this machine's files."""

import pathlib

import stage
from container import Container, of_machine, own

PORT = 5432


def programs() -> pathlib.Path:
    """The newest PostgreSQL of this machine."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    return found[-1].parent if found else stage.missing("PostgreSQL is not installed (Debian: postgresql)")


def start(name: str, address: str, variables: dict[str, str], place: pathlib.Path, etc: pathlib.Path) -> Container:
    """Starts a server with the user, the password and the database that the variables of the image name, and returns when it answers."""
    folder, user = own(place / name), variables["POSTGRES_USER"]
    method, secret = variables.get("POSTGRES_HOST_AUTH_METHOD", "scram-sha-256"), variables.get("POSTGRES_PASSWORD", "")
    # initdb asks for the name of its user, and the image's program reads the password from a file too.
    accounts, password = place / f"{name}.passwd", place / f"{name}.password"
    accounts.write_text("postgres:x:65534:65534::/:/bin/false\n")
    password.write_text(secret or "none")
    mounts = [(folder, "/data", True), (accounts, "/etc/passwd", False), (password, "/password", False)]
    bin, sandbox = programs(), of_machine(etc)
    container = Container(name, address, [], {"PGPASSWORD": secret}, mounts, ["/tmp"], place / f"{name}.log")
    made = container.run(
        sandbox, [f"{bin}/initdb", "-D", "/data/db", "-U", user, "-A", method, "--pwfile", "/password", "--no-sync", "--no-locale"], 120
    )
    if made.returncode != 0:
        raise SystemExit(f"initdb ended with {made.returncode}\n{made.stdout}\n{made.stderr}")
    # As the image does for any address.
    with (folder / "db/pg_hba.conf").open("a") as allowed:
        allowed.write(f"host all all all {method}\n")
    container.command = [f"{bin}/postgres", "-D", "/data/db", "-h", address, "-p", str(PORT), "-k", "/tmp", "-c", "fsync=off", "-c", "max_connections=100"]
    container.start(sandbox)
    asked = lambda database, command: container.run(
        sandbox, [f"{bin}/psql", "-h", address, "-U", user, "-d", database, "--no-psqlrc", "--quiet", "--tuples-only", "--command", command], 30
    )
    stage.until(f"{name} answers", 60, lambda: asked("postgres", "select 1").returncode == 0)
    made = variables.get("POSTGRES_DB")
    if made and (created := asked("postgres", f'create database "{made}"')).returncode != 0:
        raise SystemExit(created.stderr)
    return container
