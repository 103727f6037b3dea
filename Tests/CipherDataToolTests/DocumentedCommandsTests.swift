import Foundation
import XCTest

/// The commands and options of the tool in the documents exist.
final class DocumentedCommandsTests: XCTestCase {
  /// A command of the tool, from the tool's description of itself.
  private struct Command: Decodable {
    struct Argument: Decodable {
      struct Name: Decodable {
        var kind: String
        var name: String
      }
      var names: [Name]?
      var kind: String
    }
    var commandName: String
    var arguments: [Argument]?
    var subcommands: [Command]?

    var options: Set<String> {
      Set((arguments ?? []).flatMap { $0.names ?? [] }.map { $0.kind == "short" ? "-\($0.name)" : "--\($0.name)" })
    }
  }

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  func testDocumentedCommandsAndOptionsExist() throws {
    struct Tool: Decodable { var command: Command }
    let fixture = try ToolFixture()
    let tool = try fixture.run(["--experimental-dump-help"], passphrase: nil)
    let command = try JSONDecoder().decode(Tool.self, from: Data(tool.output.utf8)).command
    var count = 0
    for file in try documents() {
      for (line, words) in Self.commands(in: try String(contentsOf: file, encoding: .utf8)) {
        count += 1
        let unknown = Self.unknown(words, command)
        XCTAssertEqual(unknown, [], "\(file.lastPathComponent):\(line): cipherdata \(words.joined(separator: " "))")
      }
    }
    XCTAssertGreaterThan(count, 40)
  }

  func testAnUnknownCommandOrOptionIsFound() {
    let fetch = Command(commandName: "fetch", arguments: [.init(names: [.init(kind: "long", name: "where")], kind: "option")])
    let key = Command(commandName: "key", subcommands: [Command(commandName: "add")])
    let tool = Command(commandName: "cipherdata", subcommands: [fetch, key])
    func unknown(_ text: String) -> [String] { Self.commands(in: text).flatMap { Self.unknown($0.words, tool) } }
    XCTAssertEqual(unknown("Use `cipherdata fetch --where 'a == \"--b\"' --explan` or `cipherdata fetsh`."), ["--explan", "fetsh"])
    XCTAssertEqual(unknown("```sh\ncat x | cipherdata key remove --all - # --no option\ncipherdata key add\n```"), ["remove", "--all"])
    XCTAssertEqual(unknown("```sh\ncipherdata fetch a.store \\\n  --where 'x' --sort y\n```"), ["--sort"])
  }

  /// The documents for users.
  private func documents() throws -> [URL] {
    let folders = ["", "Documentation", "Sources/CipherData/CipherData.docc", "Examples"].map { Self.root.appendingPathComponent($0) }
    let files = try folders.flatMap { try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: nil) }
    return files.filter { $0.pathExtension == "md" && $0.lastPathComponent != "CHANGELOG.md" }.sorted { $0.path < $1.path }
  }

  /// The words after `cipherdata` in code blocks and code spans.
  private static func commands(in text: String) -> [(line: Int, words: [String])] {
    var commands: [(Int, [String])] = []
    var isCode = false
    var pending = ""
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      if line.hasPrefix("```") {
        isCode.toggle()
        continue
      }
      if isCode {
        // A backslash joins lines.
        pending += line.hasSuffix("\\") ? line.dropLast() + " " : line
        if !line.hasSuffix("\\") {
          for words in Self.words(of: pending) { commands.append((index + 1, words)) }
          pending = ""
        }
      } else {
        let spans = line.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        for span in spans { for words in Self.words(of: String(span)) { commands.append((index + 1, words)) } }
      }
    }
    return commands
  }

  /// The words of each call in a shell line.
  private static func words(of line: String) -> [[String]] {
    var calls: [[String]] = [[]]
    var word = ""
    var quote: Character?
    func end() {
      if !word.isEmpty { calls[calls.count - 1].append(word) }
      word = ""
    }
    for character in line {
      if let open = quote {
        if character == open { quote = nil }
        word.append(character)
      } else if character == "'" || character == "\"" {
        quote = character
        word.append(character)
      } else if character == "#", word.isEmpty {
        break
      } else if "|;&()<>".contains(character) {
        end()
        calls.append([])
      } else if character == " " {
        end()
      } else {
        word.append(character)
      }
    }
    end()
    return calls.compactMap { words in
      let call = words.drop { $0.contains("=") && $0.first?.isUppercase == true }
      guard let start = call.firstIndex(of: "cipherdata"), start == call.startIndex || call[call.startIndex] == "swift" else { return nil }
      return Array(call[(start + 1)...])
    }
  }

  /// The words that are not a command or an option.
  private static func unknown(_ words: [String], _ tool: Command) -> [String] {
    var command = tool
    var rest = words[...]
    while let subcommands = command.subcommands?.filter({ $0.commandName != "help" }), !subcommands.isEmpty,
      let word = rest.first, word.first?.isLowercase == true, word.allSatisfy({ $0.isLetter || $0 == "-" })
    {
      if word == "help" { return [] }
      guard let next = subcommands.first(where: { $0.commandName == word }) else { return [word] + options(rest.dropFirst()) }
      command = next
      rest.removeFirst()
    }
    return options(rest).filter { !command.options.contains($0) && !["--help", "-h", "--version"].contains($0) }
  }

  /// The options among words, without their values.
  private static func options(_ words: ArraySlice<String>) -> [String] {
    words.map { String($0.drop { $0 == "[" }.prefix { $0 != "=" && $0 != "]" && $0 != "," }) }
      .filter { $0.hasPrefix("--") && $0.count > 2 || $0.count == 2 && $0.hasPrefix("-") && $0.last?.isLetter == true }
  }
}
