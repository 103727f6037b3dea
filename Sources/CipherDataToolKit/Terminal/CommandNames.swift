// CommandNames: what to say of a command that does not exist.
import ArgumentParser
import ObjectModel

/// Looks for the command that a mistyped one may be; the parser reports its name as a stray argument.
enum CommandNames {
  /// What is wrong with the names of commands that arguments begin with; nil if nothing is.
  static func objection(to arguments: [String], of root: any ParsableCommand.Type) -> String? {
    var command = root
    var isRoot = true
    for word in arguments {
      let subcommands = command.configuration.subcommands
      guard !subcommands.isEmpty, !word.hasPrefix("-") else { return nil }
      // `help` takes the names of commands.
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
