import ArgumentParser
import ObjectModel

/// Suggestions for mistyped commands. The argument parser would report the name as an unexpected argument.
enum CommandNames {
  /// Returns a message about an unknown command at the start of the arguments; `nil` if there is none.
  static func objection(to arguments: [String], of root: any ParsableCommand.Type) -> String? {
    var command = root
    var isRoot = true
    for word in arguments {
      let subcommands = command.configuration.subcommands
      guard !subcommands.isEmpty, !word.hasPrefix("-") else { return nil }
      // The arguments of `help` are names of commands.
      if word == "help", isRoot { continue }
      guard let next = subcommands.first(where: { names(of: $0).contains(word) }) else {
        let shown = subcommands.filter { $0.configuration.shouldDisplay }
        let known = shown.flatMap { names(of: $0) } + (isRoot ? ["help"] : [])
        let owner = isRoot ? "" : "\(name(of: command)) "
        guard let close = SimilarName.of(word, among: known) else {
          return "There is no command “\(owner)\(word)”; the commands are \(known.joined(separator: ", "))."
        }
        return "There is no command “\(owner)\(word)”; did you mean “\(owner)\(close)”?"
      }
      (command, isRoot) = (next, false)
    }
    return nil
  }

  private static func names(of command: any ParsableCommand.Type) -> [String] { [name(of: command)] + command.configuration.aliases }

  private static func name(of command: any ParsableCommand.Type) -> String {
    command.configuration.commandName ?? String(describing: command).lowercased()
  }
}
