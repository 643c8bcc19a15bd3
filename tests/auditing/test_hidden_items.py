import json

from error_assertions import raises
from recveil.auditing import audit
from recveil.cli import app
from shared.auditing_hidden_items import (
    folder,  # noqa: F401 (fixtures)
    found,
)


def test_a_catalogue_of_others_is_read(folder):
    hidden = found(folder, "hidden", item_catalog=folder / "others.csv")["release"]["hidden_items"]
    assert hidden["catalogue"] == "others.csv"
    assert not hidden["catalogue_is_half_of_users"]


def test_a_catalogue_is_refused_where_nothing_is_hidden(folder):
    with raises("option.unsupported"):
        found(folder, "named", item_catalog=folder / "others.csv")
    with raises("option.required"):
        audit(folder / "ratings.csv", item_catalog=folder / "others.csv")


def test_the_command_takes_it(folder, capsys):
    arguments = ["audit", folder / "ratings.csv", "--release", folder / "hidden", "--no-curves"]
    arguments += ["--item-catalog", folder / "others.csv", "--targets", "20", "--json", "-"]
    app(list(map(str, arguments)), standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["release"]["hidden_items"]["items"] == 30
