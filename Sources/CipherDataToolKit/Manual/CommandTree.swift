// CommandTree: the commands with their arguments, as the argument parser tells them.

/// One command, with those below it.
package struct CommandTree: Sendable {
  /// An argument, option or flag.
  package struct Argument: Sendable, Hashable {
    /// `positional`, `option` or `flag`.
    var kind: String
    /// The names with their dashes; none for a positional one.
    package var names: [String]
    var valueName: String
    var isOptional: Bool
    var isRepeating: Bool
    var abstract: String
    var values: [String]
    var defaultValue: String?
  }

  /// The names from the tool's on.
  package var path: [String]
  package var abstract: String
  package var discussion: String
  package var arguments: [Argument]
  package var subcommands: [CommandTree]

  /// This command and all below it.
  package var all: [CommandTree] { [self] + subcommands.flatMap(\.all) }

  /// Reads what the parser's experimental help says.
  ///
  /// - Throws: ``JSONError`` where it is no JSON.
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
  /// The elements of an array; none where it is something else.
  fileprivate var elements: [JSONValue] {
    if case .array(let elements)? = self { elements } else { [] }
  }
}
