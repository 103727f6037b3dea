import ArgumentParser

/// Prints the manual page. `Scripts/install` uses it to install the page.
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
  /// Returns the tree of visible commands.
  package static func commandTree() throws -> CommandTree { try CommandTree(parserHelp: CipherDataCommand._dumpHelp()) }

  /// Returns the manual page in roff.
  package static func manualPage() throws -> String { ManualPage.text(of: try commandTree(), version: version) }

  /// Returns the completion script for a shell: `bash`, `zsh`, or `fish`; `nil` for any other.
  package static func completions(for shell: String) -> String? {
    CompletionShell(rawValue: shell).map { CipherDataCommand.completionScript(for: $0) }
  }
}
