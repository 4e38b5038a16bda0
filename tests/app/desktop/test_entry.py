"""The entry of the desktop, written into folders of the test's own and read by the desktop's own programs."""

from __future__ import annotations

import os
import plistlib
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from localcrag.app.desktop import linux, macos, windows
from localcrag.app.desktop.entry import FILE_TYPES, SIZES, Commands, icon_images
from localcrag.app.desktop.linux import keep_defaults
from localcrag.app.desktop.window import installed_browsers
from localcrag.records.documents import KINDS

pytestmark = pytest.mark.process

COMMANDS = Commands(opens=("/opt/my own/python", "-P", "-m", "localcrag", "desktop", "open"), ends=("/bin/true",))


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_every_kind_of_document_that_people_know_can_be_opened() -> None:
    assert set(KINDS) - set(FILE_TYPES) == {"multipart/related"}  # As a file, application/x-mimearchive.


def test_the_icon_is_there_in_each_size() -> None:
    assert [one.size for one in icon_images(SIZES)] == [(size, size) for size in SIZES]


def test_the_entry_is_valid(tmp_path: Path) -> None:
    made = linux.XdgEntry(tmp_path).install(COMMANDS)
    assert all(path.is_file() for path in made)
    checked = subprocess.run(
        ["desktop-file-validate", tmp_path / "applications/localcrag.desktop"], capture_output=True, check=False
    )
    assert (checked.returncode, checked.stdout) == (0, b"")


def test_the_entry_hands_over_files_whatever_they_and_the_command_are_called(tmp_path: Path) -> None:
    odd = tmp_path / 'a "b" $HOME `c` \\d %f'
    odd.mkdir()
    tells = odd / "tells.py"
    tells.write_text("import sys, pathlib\npathlib.Path(__file__).with_name('told').write_text('|'.join(sys.argv[1:]))")
    document = odd / "one & 'two'.md"
    document.write_text("# One")
    linux.XdgEntry(tmp_path / "data").install(Commands((sys.executable, str(tells), "open"), ("true",)))
    subprocess.run(["gio", "launch", tmp_path / "data/applications/localcrag.desktop", document], check=True)
    told = odd / "told"
    subprocess.run(["timeout", "60", "sh", "-c", 'until [ -s "$0" ]; do sleep 0.05; done', told], check=True)
    assert told.read_text() == f"open|{document}"


def test_removed_it_leaves_nothing_of_its_own_and_all_of_others(tmp_path: Path) -> None:
    other = tmp_path / "applications" / "other.desktop"
    other.parent.mkdir()
    other.write_text("[Desktop Entry]\nType=Application\nName=Other\nExec=true\n")
    before = files(tmp_path)
    entry = linux.XdgEntry(tmp_path)
    entry.install(COMMANDS)
    made = entry.install(COMMANDS)
    assert sorted(entry.remove()) == sorted(made)
    assert files(tmp_path) == before
    assert entry.remove() == []


def test_what_opened_a_kind_by_itself_before_still_does(tmp_path: Path) -> None:
    system, data, config = tmp_path / "share", tmp_path / "data", tmp_path / "config"
    for name, text in {
        "applications/mimeinfo.cache": "[MIME Cache]\ntext/plain=editor.desktop;b.desktop\nimage/pdf=viewer.desktop;\n",
        "mime/aliases": "image/pdf application/pdf\n",
        "mime/subclasses": "text/markdown text/plain\n",
    }.items():
        (system / name).parent.mkdir(parents=True, exist_ok=True)
        (system / name).write_text(text)
    config.mkdir()
    (config / "mimeapps.list").write_text("[Default Applications]\ntext/csv=sheets.desktop\n")
    there = {"XDG_DATA_DIRS": str(system), "XDG_CONFIG_HOME": str(config), "XDG_CONFIG_DIRS": str(tmp_path / "none")}
    kept = keep_defaults(data, ("application/pdf", "text/markdown", "text/csv", "image/png"), there)
    assert kept
    assert kept.read_text().splitlines()[1:] == [
        "[Default Applications]",
        "application/pdf=viewer.desktop",
        "text/markdown=editor.desktop",
    ]


def test_a_list_of_choices_that_is_somebody_elses_stays(tmp_path: Path) -> None:
    own = tmp_path / "applications" / "mimeapps.list"
    own.parent.mkdir()
    own.write_text("[Default Applications]\ntext/plain=mine.desktop\n")
    assert keep_defaults(tmp_path, ("text/html",), {"XDG_DATA_DIRS": str(tmp_path)}) is None
    entry = linux.XdgEntry(tmp_path)
    entry.install(COMMANDS)
    entry.remove()
    assert own.read_text() == "[Default Applications]\ntext/plain=mine.desktop\n"


def test_windows_registry_offers_every_kind_and_takes_none_over(tmp_path: Path) -> None:
    values = windows.registry(COMMANDS, tmp_path / "localcrag.ico")
    assert (r"Software\Classes\.pdf\OpenWithProgids", "localcrag.Document", "") in values
    command = {key: text for key, _name, text in values}[r"Software\Classes\localcrag.Document\shell\open\command"]
    assert command == '"/opt/my own/python" -P -m localcrag desktop open "%1"'
    assert not [key for key, name, _text in values if key.rpartition("\\")[2].startswith(".") and not name]


def test_windows_icon_holds_its_sizes(tmp_path: Path) -> None:
    windows.write_ico(tmp_path / "localcrag.ico")
    with Image.open(tmp_path / "localcrag.ico") as icon:
        assert icon.info["sizes"] == {(size, size) for size in SIZES if size <= 256}


def test_a_mac_application_says_what_it_opens(tmp_path: Path) -> None:
    contents = tmp_path / "localcrag.app" / "Contents"
    (contents / "Resources").mkdir(parents=True)
    (contents / "Info.plist").write_bytes(plistlib.dumps({"CFBundleExecutable": "droplet", "CFBundleIconFile": "x"}))
    macos.complete_bundle(tmp_path / "localcrag.app")
    said = plistlib.loads((contents / "Info.plist").read_bytes())
    assert said["CFBundleExecutable"] == "droplet"
    assert {one["CFBundleTypeExtensions"][0] for one in said["CFBundleDocumentTypes"]} >= {"pdf", "docx", "md"}
    with Image.open(contents / "Resources" / f"{said['CFBundleIconFile']}.icns") as icon:
        assert icon.size[0] >= 512


def test_a_mac_script_quotes_the_command_for_the_shell_and_for_itself() -> None:
    script = macos.script(Commands(opens=('/a "b"/python', "it's"), ends=()))
    line = next(line for line in script.splitlines() if "do shell script" in line)
    shell = line.split('"', 1)[1].rsplit('" & given', 1)[0].replace('\\"', '"').replace("\\\\", "\\")
    said = subprocess.run(["sh", "-c", f"printf '%s|' {shell}"], capture_output=True, text=True, check=True).stdout
    assert said == '/a "b"/python|it\'s|'


@pytest.mark.parametrize(("script", "there"), [("exec /usr/lib/chromium", True), ("exec /snap/bin/chromium", False)])
def test_a_browser_in_a_snap_is_none_for_the_window(tmp_path: Path, script: str, there: bool) -> None:
    browser = tmp_path / "chromium-browser"
    browser.write_text(f"#!/bin/sh\n{script}\n")
    browser.chmod(0o755)
    assert list(installed_browsers("linux", {"PATH": str(tmp_path)})) == ([str(browser)] if there else [])


def test_browsers_of_other_systems_are_looked_for_where_they_lie(tmp_path: Path) -> None:
    edge = tmp_path / r"Microsoft\Edge\Application\msedge.exe"
    chrome = tmp_path / "Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
    for path in (edge, chrome):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert list(installed_browsers("win32", {"PROGRAMFILES": str(tmp_path)})) == [os.fspath(edge)]
    assert list(installed_browsers("darwin", {}, tmp_path)) == [str(chrome)]
