//! The texts of a service's file, with paths and values escaped as each needs it.

use std::path::Path;

/// What the service is called.
pub(super) const NAME: &str = "mcp-bridge";

/// What stands in every file that was written here, by which it is known.
pub(super) const MARK: &str = "Written by `mcp-bridge setup service`";

/// A unit for systemd.
pub(super) fn unit(program: &Path, variables: &[(String, String)]) -> String {
    let program = quoted(&program.to_string_lossy());
    let variables: String = variables
        .iter()
        .map(|(name, value)| {
            let assigned = quoted(&format!("{name}={value}"));
            format!("Environment={assigned}\n")
        })
        .collect();
    format!(
        "# {MARK}, which `--remove` takes out again.\n\
         [Unit]\n\
         Description={NAME}, the bridge to ComputerCraft computers\n\
         \n\
         [Service]\n\
         ExecStart={program} serve\n\
         {variables}\
         Restart=on-failure\n\
         RestartSec=5\n\
         # Settings that can't be used don't get better by trying again.\n\
         RestartPreventExitStatus=2\n\
         NoNewPrivileges=yes\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    )
}

/// A word as systemd reads it: `%` begins what it fills in. `$` does so in the arguments of a command, of which there are
/// none with one.
pub(super) fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' => quoted.push_str("%%"),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// An agent for launchd.
pub(super) fn agent(program: &Path, variables: &[(String, String)]) -> String {
    let program = in_xml(&program.to_string_lossy());
    let entries: String = variables
        .iter()
        .map(|(name, value)| {
            format!(
                "    <key>{}</key>\n    <string>{}</string>\n",
                in_xml(name),
                in_xml(value)
            )
        })
        .collect();
    let environment = match entries.is_empty() {
        true => String::new(),
        false => format!("  <key>EnvironmentVariables</key>\n  <dict>\n{entries}  </dict>\n"),
    };
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {MARK}, which takes it out again with the flag for that. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{NAME}</string>
  <key>ProgramArguments</key>
  <array>
    <string>{program}</string>
    <string>serve</string>
  </array>
{environment}  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
</dict>
</plist>
"#
    )
}

/// A task for Windows, of this user's.
pub(super) fn task(program: &Path, user: Option<&str>) -> String {
    let program = in_xml(&program.to_string_lossy());
    let user = user.map_or(String::new(), |user| {
        format!("\n      <UserId>{}</UserId>", in_xml(user))
    });
    format!(
        r#"<?xml version="1.0"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>{MARK}: {NAME}, the bridge to ComputerCraft computers</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>{user}
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">{user}
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Hidden>true</Hidden>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>10</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>"{program}"</Command>
      <Arguments>serve</Arguments>
    </Exec>
  </Actions>
</Task>
"#
    )
}

/// A text between tags.
pub(super) fn in_xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_something_to_a_system_is_escaped() {
        let program = Path::new("/home/a b/$x/100%\"/mcp-bridge");
        let variables = [("A".to_owned(), "1 % \\ \" $ <&>".to_owned())];
        let unit = unit(program, &variables);
        assert!(
            unit.contains("\nExecStart=\"/home/a b/$x/100%%\\\"/mcp-bridge\" serve\n"),
            "{unit}"
        );
        assert!(
            unit.contains("\nEnvironment=\"A=1 %% \\\\ \\\" $ <&>\"\n"),
            "{unit}"
        );
        let agent = agent(program, &variables);
        assert!(
            agent.contains("<string>/home/a b/$x/100%&quot;/mcp-bridge</string>"),
            "{agent}"
        );
        assert!(
            agent.contains("<string>1 % \\ &quot; $ &lt;&amp;&gt;</string>"),
            "{agent}"
        );
        let task = task(program, Some("A&B\\ann"));
        assert!(task.contains("<UserId>A&amp;B\\ann</UserId>"), "{task}");
    }
}
