"""The image without a container engine: the files that the Dockerfile's last stage copies, and its user and folder.

    image.py DOCKERFILE BINARY TREE    build the tree, and print what is in it
"""

import pathlib
import re
import shlex
import shutil
import sys


class Image:
    """The last stage of a Dockerfile, with its files below `tree`."""

    def __init__(self, dockerfile: pathlib.Path, binary: pathlib.Path, tree: pathlib.Path):
        self.tree = tree
        self.user, self.workdir, self.entrypoint = "", "/", []
        last = final_stage(dockerfile.read_text())
        base = last[0].split()[1]
        if base != "scratch":
            sys.exit(f"the last stage is built on {base}: only scratch holds exactly what is copied")
        for instruction in last[1:]:
            word, rest = instruction.split(None, 1)
            if word == "COPY":
                self.copy(dockerfile.parent.parent, binary, rest)
            elif word == "USER":
                self.user = rest
            elif word == "WORKDIR":
                self.workdir = rest
            elif word == "ENTRYPOINT":
                self.entrypoint = [part.strip().strip('"') for part in rest.strip("[]").split(",")]
            elif word not in ("LABEL", "CMD"):
                sys.exit(f"the check does not know what {word} does to an image")
        if not re.fullmatch(r"[1-9][0-9]*:[1-9][0-9]*", self.user):
            sys.exit(f"USER is {self.user!r}: it must be two numbers, and neither of them root's")

    def copy(self, context: pathlib.Path, binary: pathlib.Path, rest: str) -> None:
        words = shlex.split(rest)
        options = [word for word in words if word.startswith("--")]
        *sources, target = [word for word in words if not word.startswith("--")]
        built = any(option.startswith("--from=") for option in options)
        for source in sources:
            place = self.tree / target.lstrip("/")
            if target.endswith("/"):
                place = place / pathlib.PurePath(source).name
            place.parent.mkdir(parents=True, exist_ok=True)
            if not built:
                shutil.copy(context / source, place)
            elif source == "/image/gabfest":
                # Hundreds of megabytes, so not copied.
                place.hardlink_to(binary)
            elif source == "/image/gabfest.debug":
                # No check reads backtraces.
                place.touch()
            elif source == "/image/data":
                place.mkdir()
            else:
                # A file of the stage's own image: use that of this machine.
                shutil.copy(source, place)

    def files(self) -> list[str]:
        """Every file and empty folder, as paths of the image."""
        found = [
            path
            for path in sorted(self.tree.rglob("*"))
            if path.is_file() or (path.is_dir() and not any(path.iterdir()))
        ]
        return ["/" + str(path.relative_to(self.tree)) for path in found]


def final_stage(text: str) -> list[str]:
    """Instructions from the last FROM on, with lines that go on joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines()
    start = max(number for number, line in enumerate(joined) if line.startswith("FROM "))
    return joined[start:]


if __name__ == "__main__":
    image = Image(*(pathlib.Path(argument) for argument in sys.argv[1:4]))
    print(f"user {image.user}, folder {image.workdir}, starts {' '.join(image.entrypoint)}, files:")
    print("\n".join(f"  {file}" for file in image.files()))
