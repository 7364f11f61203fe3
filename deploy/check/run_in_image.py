"""Plays the shipped scenarios in the image: exactly the files that the Dockerfile copies, as its user, and only volumes can be written.

    run_in_image.py BINARY PLACE
"""

import json
import pathlib
import shutil
import sys

from container import Container, of_image, own
from image import Image

DEPLOY = pathlib.Path(__file__).parent.parent


def main(binary: pathlib.Path, place: pathlib.Path) -> None:
    (place / "tree").mkdir()
    image = Image(DEPLOY / "Dockerfile", binary, place / "tree")
    print(f"the image: user {image.user}, files {', '.join(image.files())}")
    etc = place / "etc"
    etc.mkdir()
    (etc / "resolv.conf").write_text("")
    (etc / "hosts").write_text("127.0.0.1 localhost\n")
    shutil.copytree(DEPLOY.parent / "scenarios", place / "scenarios")
    volume = own(place / "volume")
    mounts = [(place / "scenarios", "/scenarios", False), (volume, image.workdir, True)]
    container = Container("run", "127.0.0.1", [], {}, mounts, ["/tmp"], place / "run.log")

    played = container.run(of_image(image, etc), [*image.entrypoint, "run", "/scenarios", "--out", "out"], 150)
    if played.returncode != 0:
        sys.exit(f"the run ended with {played.returncode}\n{played.stdout[-2000:]}\n{played.stderr[-2000:]}")
    trials = json.loads((volume / "out/report.json").read_text())["summary"]["trials"]
    print(f"the run: {trials['pass']} of {trials['planned']} trials passed")
    if not trials["pass"]:
        sys.exit("nothing passed")
    refused = container.run(of_image(image, etc), [*image.entrypoint, "init", "/etc/gabfest"], 30)
    if refused.returncode == 0:
        sys.exit("the image could be written to")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
