"""Map the rooms at the top level into the one import package `discreet`.

The folders `state`, `prompts`, `nodes` and `graph` lie at the top of the repository, but as packages of those names
they would collide in everybody's site-packages. So they are installed as `discreet.state` and so on.
"""

from setuptools import find_packages, setup

ROOMS = ("state", "prompts", "nodes", "graph")

room_packages = [
    f"discreet.{room}{'.' + inner if inner else ''}" for room in ROOMS for inner in ["", *find_packages(room)]
]
setup(
    package_dir={"": "src", **{f"discreet.{room}": room for room in ROOMS}},
    packages=[*find_packages("src"), *room_packages],
    include_package_data=False,  # what `package_data` names, and no more: folders of data are no packages
    package_data={
        "discreet.cli.project": ["template/**"],
        "": ["*.sql", "*.md", "*.json", "*.toml", "*.npz", "*.html", "*.css", "*.js", "*.svg", "py.typed"],
    },
)
