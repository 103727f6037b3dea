/// The tool's page for `man`, generated from its commands.
package struct ManualPage {
  private let tree: CommandTree
  private let version: String
  /// The arguments that most commands share, which are described once.
  private let common: [CommandTree.Argument]
  private var lines: [String] = []

  /// Returns the whole page in roff.
  package static func text(of tree: CommandTree, version: String) -> String {
    var page = ManualPage(tree: tree, version: version)
    page.writeAll()
    return page.lines.joined(separator: "\n") + "\n"
  }

  private init(tree: CommandTree, version: String) {
    self.tree = tree
    self.version = version
    let leaves = tree.all.filter { $0.subcommands.isEmpty }
    var counts: [CommandTree.Argument: Int] = [:]
    for argument in leaves.flatMap(\.arguments) where argument.kind != "positional" { counts[argument, default: 0] += 1 }
    common = counts.filter { $0.value * 2 > leaves.count }.keys.sorted { ($0.names.last ?? "") < ($1.names.last ?? "") }
  }

  private mutating func writeAll() {
    lines = [".\\\" Made by `cipherdata manual`.", ".TH CIPHERDATA 1 \"\" \"cipherdata \(version)\" \"User Commands\"", ".nh"]
    section("NAME")
    lines.append(Self.escaped("cipherdata") + " \\- " + Self.escaped(Self.withoutStop(tree.abstract)))
    section("SYNOPSIS")
    lines += [".B cipherdata", ".I command", ".RI [ arguments ]"]
    section("DESCRIPTION")
    // The exit statuses have their own section.
    text(
      tree.discussion.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.hasPrefix("Exit status:") }.joined(
        separator: "\n"))
    section("COMMANDS")
    for command in tree.all.dropFirst() { write(command) }
    section("COMMON OPTIONS")
    lines += ["Most commands take these."]
    for argument in common { write(argument) }
    section("EXIT STATUS")
    for status in ExitStatus.allCases { item("\(status.rawValue)", status.meaning) }
    section("ENVIRONMENT")
    for (name, meaning) in Self.environment { item(name, meaning) }
    section("FILES")
    for (name, meaning) in Self.files { item(name, meaning) }
  }

  private static let environment = [
    ("CIPHERDATA_PASSPHRASE", "The passphrase of the store, where no file with it is named."),
    ("CIPHERDATA_NEW_PASSPHRASE", "The new passphrase, where one is asked for."),
    ("CIPHERDATA_SOURCE_PASSPHRASE", "The passphrase of an encrypted Core Data store that is imported."),
    (
      "CIPHERDATA_LOG",
      "A comma-separated list of reports on standard error: sql for the statements with their times and rows, migration for the phases of migrations."
    ),
  ]
  private static let files = [
    ("STORE", "The encrypted database."),
    ("STORE.keys", "The key file: each key that opens the store, in a slot. Without it the store cannot be opened."),
    ("STORE-wal, STORE-shm", "The log of a store in use, and its index. They belong to the store."),
    ("STORE-changes", "Touched by each commit to notify other processes. It has no contents."),
    (".STORE_SUPPORT", "The large values, encrypted one by one."),
  ]

  private mutating func write(_ command: CommandTree) {
    lines.append(".SS \"" + Self.escaped(command.path.dropFirst().joined(separator: " ")) + "\"")
    if !command.subcommands.isEmpty {
      text(command.abstract)
      if !command.discussion.isEmpty { text(command.discussion) }
      return
    }
    let own = command.arguments.filter { !common.contains($0) }
    lines.append(Self.synopsis(command, own))
    lines.append(".PP")
    text(command.abstract)
    for argument in own { write(argument) }
    if !command.discussion.isEmpty {
      lines.append(".PP")
      text(command.discussion)
    }
  }

  private static func synopsis(_ command: CommandTree, _ arguments: [CommandTree.Argument]) -> String {
    var parts = ["\\fB" + escaped(command.path.joined(separator: " ")) + "\\fR"]
    for argument in arguments where argument.kind == "positional" || !argument.isOptional && argument.kind == "option" {
      parts.append(bracketed(form(argument), argument))
    }
    if arguments.contains(where: { $0.kind == "flag" || $0.kind == "option" && $0.isOptional }) { parts.append("[\\fIoptions\\fR]") }
    return parts.joined(separator: " ")
  }

  private static func bracketed(_ text: String, _ argument: CommandTree.Argument) -> String {
    (argument.isOptional ? "[\(text)]" : text) + (argument.isRepeating ? " ..." : "")
  }

  /// Returns an argument as it is typed.
  private static func form(_ argument: CommandTree.Argument) -> String {
    let value = "\\fI" + escaped(argument.valueName) + "\\fR"
    if argument.kind == "positional" { return value }
    let names = argument.names.map { "\\fB" + escaped($0) + "\\fR" }.joined(separator: ", ")
    return argument.kind == "option" ? names + " " + value : names
  }

  private mutating func write(_ argument: CommandTree.Argument) {
    var meaning = argument.abstract
    if !argument.values.isEmpty { meaning += " One of: " + argument.values.joined(separator: ", ") + "." }
    if let value = argument.defaultValue, !value.isEmpty { meaning += " Without it: " + value + "." }
    lines += [".TP", Self.form(argument)]
    text(meaning.isEmpty ? argument.valueName : meaning)
  }

  private mutating func item(_ title: String, _ meaning: String) {
    lines += [".TP", "\\fB" + Self.escaped(title) + "\\fR"]
    text(meaning)
  }

  private mutating func section(_ title: String) { lines.append(".SH " + title) }

  /// Appends paragraphs. Lines that begin with spaces are not filled.
  private mutating func text(_ text: String) {
    var isExample = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let isIndented = line.hasPrefix("  ")
      if line.allSatisfy(\.isWhitespace) {
        if !isExample { lines.append(".sp") }
        continue
      }
      if isIndented != isExample {
        lines.append(isIndented ? ".nf" : ".fi")
        isExample = isIndented
      }
      lines.append(Self.escaped(line))
    }
    if isExample { lines.append(".fi") }
    // A blank line before the end would be superfluous.
    while lines.last == ".sp" { lines.removeLast() }
  }

  private static func withoutStop(_ text: String) -> String { text.hasSuffix(".") ? String(text.dropLast()) : text }

  /// Returns text without commands and escapes, and with dashes that can be copied.
  private static func escaped(_ text: some StringProtocol) -> String {
    var result = ""
    for character in text {
      switch character {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "\"": result += "\\(dq"
      case "`": result += "\\(ga"
      case "'": result += "\\(aq"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      default: result.append(character)
      }
    }
    return result.hasPrefix(".") ? "\\&" + result : result
  }
}
