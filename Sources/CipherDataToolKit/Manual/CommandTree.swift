/// A command with its arguments and subcommands.
package struct CommandTree: Sendable {
  /// An argument, option, or flag.
  package struct Argument: Sendable, Hashable {
    /// `positional`, `option` or `flag`.
    var kind: String
    /// The names including dashes; empty for a positional argument.
    package var names: [String]
    var valueName: String
    var isOptional: Bool
    var isRepeating: Bool
    var abstract: String
    var values: [String]
    var defaultValue: String?
  }

  /// The names of the commands, from the tool's name to this one.
  package var path: [String]
  package var abstract: String
  package var discussion: String
  package var arguments: [Argument]
  package var subcommands: [CommandTree]

  /// This command and all its subcommands, recursively.
  package var all: [CommandTree] { [self] + subcommands.flatMap(\.all) }

  /// Reads the argument parser's experimental help dump.
  ///
  /// - Throws: ``JSONError`` if it is not valid JSON.
  package init(parserHelp: String) throws {
    self.init(try JSONParser.parse(parserHelp)["command"] ?? .null, below: [])
  }

  private init(_ value: JSONValue, below path: [String]) {
    func text(_ value: JSONValue?) -> String { value?.plainText ?? "" }
    self.path = path + [text(value["commandName"])]
    abstract = text(value["abstract"])
    discussion = text(value["discussion"])
    arguments = value["arguments"].elements.filter { $0["shouldDisplay"] != .bool(false) }.map { argument in
      Argument(
        kind: text(argument["kind"]),
        names: argument["names"].elements.map { (text($0["kind"]) == "long" ? "--" : "-") + text($0["name"]) },
        valueName: text(argument["valueName"]), isOptional: argument["isOptional"] == .bool(true),
        isRepeating: argument["isRepeating"] == .bool(true), abstract: text(argument["abstract"]),
        values: argument["allValues"].elements.map { text($0) }, defaultValue: argument["defaultValue"]?.plainText)
    }
    let own = self.path
    subcommands = value["subcommands"].elements.filter { $0["shouldDisplay"] != .bool(false) && text($0["commandName"]) != "help" }
      .map { CommandTree($0, below: own) }
  }
}

extension JSONValue? {
  /// The elements of an array; empty for any other value.
  fileprivate var elements: [JSONValue] {
    if case .array(let elements)? = self { elements } else { [] }
  }
}
