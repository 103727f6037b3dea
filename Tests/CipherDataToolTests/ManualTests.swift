import CipherDataToolKit
import Foundation
import XCTest
import _TestSupport

/// The manual page and the completions are generated from the commands, and contain each of them.
final class ManualTests: XCTestCase {
  private var commands: [CommandTree] {
    get throws { Array(try Tool.commandTree().all.dropFirst()) }
  }

  func testEveryCommandAndEveryOptionIsInTheManualPage() throws {
    let page = try Tool.manualPage()
    let known = try commands
    XCTAssertGreaterThan(known.count, 30)
    for command in known {
      let title = command.path.dropFirst().joined(separator: " ")
      XCTAssertTrue(page.contains(".SS \"\(title.replacing("-", with: "\\-"))\"\n"), title)
      for name in command.arguments.flatMap(\.names) {
        XCTAssertTrue(page.contains("\\fB\(name.replacing("-", with: "\\-"))\\fR"), "\(title) \(name)")
      }
    }
    for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "COMMON OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES"] {
      XCTAssertTrue(page.contains(".SH \(section)\n"), section)
    }
    for variable in ["CIPHERDATA_PASSPHRASE", "CIPHERDATA_NEW_PASSPHRASE", "CIPHERDATA_LOG"] { XCTAssertTrue(page.contains(variable)) }
  }

  func testCommandsNamedInTextsExist() throws {
    let known = Set(try Tool.commandTree().all.map { $0.path.dropFirst().joined(separator: " ") }).union(["help", "manual"])
    let groups = Set(known.compactMap { $0.firstMatch(of: #/^(\S+) /#).map { String($0.1) } })
    let root = TestStack.schemas.deletingLastPathComponent()
    var count = 0
    for folder in ["Sources", "Documentation", "Examples", "README.md", "CONTRIBUTING.md", "Scripts"] {
      let place = root.appendingPathComponent(folder)
      let files = FileManager.default.enumerator(at: place, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
      for file in files.isEmpty ? [place] : files where !file.path.contains("/.build/") {
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { continue }
        // In code and quotation marks, at the start of a line, and after an instruction to run it.
        let lines = text.split(separator: "\n").filter { $0.contains("cipherdata ") }.joined(separator: "\n")
        for match in lines.matches(of: #/(?m)(?:[`“;|] ?| or |^ *)cipherdata ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?/#) {
          let command = String(match.1)
          let name = groups.contains(command) ? [command, match.2.map(String.init)].compactMap { $0 }.joined(separator: " ") : command
          XCTAssertTrue(known.contains(name), "\(file.path): there is no command “\(name)”")
          count += 1
        }
      }
    }
    XCTAssertGreaterThan(count, 60)
  }

  func testGroffReportsNoWarnings() throws {
    let folder = try TemporaryFolder()
    let page = try folder.file("cipherdata.1", Tool.manualPage())
    let groff = try ProgramRun(["groff", "-man", "-ww", "-Tutf8", "-Kutf8", "-P-cbou", page.path])
    XCTAssertEqual(groff.status, 0, "groff is needed (Debian's groff-base): \(groff.output)")
    XCTAssertFalse(groff.output.contains("warning: "), groff.output)
    XCTAssertTrue(groff.output.contains("cipherdata compact"), groff.output)
    // No text is lost because it resembles a command of the page's language.
    XCTAssertTrue(groff.output.contains(".xcdatamodeld"))
  }

  func testHiddenCommandPrintsTheManualPage() throws {
    let result = try ToolFixture().run(["manual"], passphrase: nil)
    XCTAssertEqual(result.status, 0, result.error)
    XCTAssertEqual(result.output, try Tool.manualPage())
    XCTAssertFalse(try commands.contains { $0.path.last == "manual" })
  }

  func testAllCommandsAreCompletedInEveryShell() throws {
    XCTAssertNil(Tool.completions(for: "tcsh"))
    for shell in ["bash", "zsh", "fish"] {
      let script = try XCTUnwrap(Tool.completions(for: shell))
      for command in try commands {
        for word in command.path { XCTAssertTrue(script.contains(word), "\(shell) \(command.path)") }
        for name in command.arguments.flatMap(\.names) {
          // fish writes option names without dashes.
          XCTAssertTrue(script.contains(shell == "fish" ? String(name.drop { $0 == "-" }) : name), "\(shell) \(command.path) \(name)")
        }
      }
    }
  }

  func testBashCompletesCommandsAndOptions() throws {
    let folder = try TemporaryFolder()
    _ = try folder.file("completion", XCTUnwrap(Tool.completions(for: "bash")))
    func complete(_ line: String) throws -> Set<String> {
      let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
      let script = """
        cd '\(folder.url.path)'; touch a.store; . ./completion
        COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " "))); COMP_CWORD=\(words.count - 1); COMP_LINE='\(line)'; COMP_POINT=\(line.count)
        COMP_TYPE=9; COMP_KEY=9
        _cipherdata cipherdata "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"; printf '%s\\n' "${COMPREPLY[@]}"
        """
      let output = try ProgramRun(["bash", "-c", script]).output
      return Set(output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) })
    }
    XCTAssertEqual(try complete("cipherdata com"), ["compact"])
    XCTAssertTrue(try complete("cipherdata key ").isSuperset(of: ["add", "list", "rotate"]))
    XCTAssertTrue(try complete("cipherdata compact --st").contains("--statistics"))
    XCTAssertEqual(try complete("cipherdata doctor --format "), ["text", "json"])
    XCTAssertTrue(try complete("cipherdata verify a").contains("a.store"))
  }
}
