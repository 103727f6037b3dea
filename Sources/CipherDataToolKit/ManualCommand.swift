// ManualCommand: `cipherdata manual`, by which Scripts/install makes the manual page.
import ArgumentParser

/// Prints the manual page.
struct ManualCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual", abstract: "Print the manual page, for man.", shouldDisplay: false)

  func run() throws {
    let sink = OutputSink()
    try sink.write(Array(Tool.manualPage().utf8))
    try sink.flush()
  }
}

extension Tool {
  /// The commands that people see.
  package static func commandTree() throws -> CommandTree { try CommandTree(parserHelp: CipherDataCommand._dumpHelp()) }

  /// The manual page, in the language of `man`.
  package static func manualPage() throws -> String { ManualPage.text(of: try commandTree(), version: version) }

  /// What completes command lines in a shell: `bash`, `zsh` or `fish`; nil for another.
  package static func completions(for shell: String) -> String? {
    CompletionShell(rawValue: shell).map { CipherDataCommand.completionScript(for: $0) }
  }
}
