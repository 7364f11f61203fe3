//! A headless Chromium driven over its debugging pipe: JSON messages that end with a zero byte.
//!
//! The browser expects the pipe as descriptors 3 and 4, which a shell gives it from two named pipes; so the test needs
//! neither a driver nor a script runtime.

use std::{
    cell::RefCell,
    env,
    fs::{File, OpenOptions},
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::base64;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(50);
const TRIES: u32 = 200;

pub(crate) struct Chromium {
    child: Child,
    pipe: RefCell<Pipe>,
    _home: TempDir,
}

struct Pipe {
    to: File,
    from: Receiver<Value>,
    next_id: u64,
    events: Vec<Value>,
}

/// A page, and its events that a quiet page does not have.
pub(crate) struct Tab<'a> {
    chromium: &'a Chromium,
    session: String,
    noise: Vec<String>,
}

impl Chromium {
    /// `None` if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let program = find()?;
        let home = tempfile::tempdir().unwrap();
        let (to, from) = (home.path().join("to"), home.path().join("from"));
        let made = Command::new("mkfifo").args([&to, &from]).status().unwrap();
        assert!(made.success(), "named pipes can be made");
        let child = Command::new("sh")
            .args(["-c", "exec 3<\"$1\" 4>\"$2\"; shift 2; exec \"$@\"", "sh"])
            .args([&to, &from])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-extensions",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--hide-scrollbars",
            ])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", home.path().join("profile").display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // In the shell's order: each side's opening waits for the other's.
        let to = OpenOptions::new().write(true).open(to).unwrap();
        let from = File::open(from).unwrap();
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut message = Vec::new();
            while from.read_until(0, &mut message).is_ok_and(|count| count > 0) {
                message.pop();
                let value = serde_json::from_slice(&message).expect("the browser speaks JSON");
                if sender.send(value).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let pipe = RefCell::new(Pipe { to, from: receiver, next_id: 0, events: Vec::new() });
        Some(Self { child, pipe, _home: home })
    }

    pub(crate) fn open(&self, page: &Path, scripts: bool) -> Tab<'_> {
        let target = self.call(None, "Target.createTarget", json!({"url": "about:blank"}));
        let attached =
            self.call(None, "Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        let mut tab = Tab { chromium: self, session, noise: Vec::new() };
        for domain in ["Page", "Runtime", "Log", "Audits", "Network"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        tab.look("light", 1_280, 900);
        if !scripts {
            tab.call("Emulation.setScriptExecutionDisabled", json!({"value": true}));
        }
        tab.load(page);
        tab
    }

    fn call(&self, session: Option<&str>, method: &str, params: Value) -> Value {
        let mut pipe = self.pipe.borrow_mut();
        pipe.next_id += 1;
        let id = pipe.next_id;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        pipe.to.write_all(&bytes).unwrap();
        loop {
            let answer = pipe.from.recv_timeout(ANSWER_WITHIN).unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            if answer["method"] == "Page.javascriptDialogOpening" {
                // An open dialog would hold every answer back.
                let close = json!({"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": false}, "sessionId": answer["sessionId"]});
                pipe.to.write_all(format!("{close}\0").as_bytes()).unwrap();
            }
            pipe.events.push(answer);
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Tab<'_> {
    pub(crate) fn load(&mut self, page: &Path) {
        self.call("Page.navigate", json!({"url": "about:blank"}));
        self.call("Page.navigate", json!({"url": format!("file://{}", page.display())}));
        assert!(
            self.becomes_true("document.readyState === 'complete' && location.protocol === 'file:'"),
            "{} opens",
            page.display()
        );
        self.settle();
    }

    pub(crate) fn look(&mut self, scheme: &str, width: u32, height: u32) {
        let media = json!([{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": media}));
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// The value of an expression as the debugger sees it, even with the page's scripts disabled.
    pub(crate) fn run(&mut self, expression: &str) -> Value {
        let answer = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    pub(crate) fn truth(&mut self, expression: &str) -> bool {
        self.run(expression) == Value::Bool(true)
    }

    pub(crate) fn becomes_true(&mut self, expression: &str) -> bool {
        (0..TRIES).any(|_| {
            let holds = self.truth(expression);
            if !holds {
                thread::sleep(TRY_AGAIN_AFTER);
            }
            holds
        })
    }

    /// Waits two frames, so that the effect of a click is laid out.
    pub(crate) fn settle(&mut self) {
        thread::sleep(TRY_AGAIN_AFTER * 3);
    }

    /// Clicks with the mouse in the middle of the element, which must be the topmost one there.
    pub(crate) fn click(&mut self, element: &str) {
        let place = self.run(&format!(
            "(() => {{ const one = {element}; one.scrollIntoView({{ block: 'center', behavior: 'instant' }});
             const box = one.getClientRects()[0]; const x = box.left + Math.min(box.width / 2, 60), y = box.top + box.height / 2;
             const hit = document.elementFromPoint(x, y);
             return [x, y, one.contains(hit)]; }})()"
        ));
        assert_eq!(place[2], true, "{element} can be clicked");
        for (kind, buttons) in [("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)] {
            let button = if kind == "mouseMoved" { "none" } else { "left" };
            let event = json!({"type": kind, "x": place[0], "y": place[1], "button": button, "buttons": buttons, "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    pub(crate) fn key(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            one if one.chars().count() == 1 => one,
            _ => "",
        };
        let code = if key == "Enter" { 13 } else { 0 };
        let down = json!({"type": "keyDown", "key": key, "text": text, "windowsVirtualKeyCode": code});
        self.call("Input.dispatchKeyEvent", down);
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}));
        self.settle();
    }

    pub(crate) fn picture(&mut self, path: &Path, whole: bool) {
        let mut wanted = json!({"format": "png", "captureBeyondViewport": whole});
        if whole {
            let size = self.call("Page.getLayoutMetrics", json!({}))["cssContentSize"].clone();
            wanted["clip"] = json!({"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1});
        }
        let shot = self.call("Page.captureScreenshot", wanted);
        std::fs::write(path, base64::decode(shot["data"].as_str().unwrap())).unwrap();
    }

    /// Checks that there was no console message, policy violation, dialog or request except for the page itself.
    pub(crate) fn assert_quiet(&mut self) {
        let noise = self.noise();
        assert!(noise.is_empty(), "{noise:#?}");
    }

    /// The events so far that a quiet page does not have.
    pub(crate) fn noise(&mut self) -> &[String] {
        self.settle();
        // Events arrive before the answer to a later call.
        self.run("1");
        &self.noise
    }

    fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.chromium.call(Some(&self.session), method, params);
        let events = std::mem::take(&mut self.chromium.pipe.borrow_mut().events);
        let ours = events.into_iter().filter(|event| event["sessionId"] == self.session.as_str());
        self.noise.extend(ours.filter_map(|event| noise(&event)));
        answer
    }
}

/// An event that a quiet page does not have.
fn noise(event: &Value) -> Option<String> {
    let params = &event["params"];
    match event["method"].as_str()? {
        "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded" | "Page.javascriptDialogOpening" => {}
        "Audits.issueAdded" if params["issue"]["code"] == "ContentSecurityPolicyIssue" => {}
        "Network.requestWillBeSent" => {
            let url = params["request"]["url"].as_str()?;
            if params["type"] == "Document" && (url.starts_with("file://") || url == "about:blank") {
                return None;
            }
        }
        _ => return None,
    }
    Some(event.to_string())
}

fn find() -> Option<PathBuf> {
    if let Some(named) = env::var_os("CHROMIUM") {
        return Some(PathBuf::from(named));
    }
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}
