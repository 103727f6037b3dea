import Foundation
import XCTest

/// The shell while other processes write: outside of a draft, a line is one transaction, as the command of the same name is.
final class ShellConcurrencyTests: XCTestCase {
  private func sizes(_ fixture: ToolFixture) throws -> [String] {
    try fixture.run([
      "fetch", "test.store", "--entity", "Package", "--properties", "installedSize", "--sort", "name,architecture", "--format", "csv",
    ]).output.split(separator: "\r\n").dropFirst().map(String.init)
  }

  private func updateFromAnotherProcess(_ fixture: ToolFixture) throws {
    let result = try fixture.run([
      "update", "test.store", "--entity", "Package", "--all", "--set", "installedSize = installedSize + 100",
    ])
    XCTAssertEqual(result.output, "4\n", result.error)
  }

  func testShellLinesSeeSavesOfOtherProcesses() async throws {
    let fixture = try await ToolFixture.withPackages()
    let terminal = try PseudoTerminal(fixture, ["shell", "test.store"])
    let prompt = "test.store> "
    try terminal.wait(for: prompt)
    for _ in 1...3 {
      terminal.type("update Package --all --set installedSize = installedSize + 1\n")
      try terminal.wait(for: "\n4\r")
      try terminal.wait(for: prompt)
      try updateFromAnotherProcess(fixture)
    }
    XCTAssertEqual(try sizes(fixture), ["7467", "349", "349", "2803"])
    terminal.type("fetch Package --where name == 'zsh' --properties installedSize --format csv\n")
    try terminal.wait(for: "\n2803\r")
    try terminal.wait(for: prompt)
    // Undo restores the previous values of the properties that the line changed.
    terminal.type("undo\n")
    try terminal.wait(for: "\nupdate Package\r")
    try terminal.wait(for: prompt)
    XCTAssertEqual(try sizes(fixture), ["7366", "248", "248", "2702"])
    try updateFromAnotherProcess(fixture)
    // Redo reverts undo.
    terminal.type("redo\n")
    try terminal.wait(for: "\nupdate Package\r")
    try terminal.wait(for: prompt)
    XCTAssertEqual(try sizes(fixture), ["7467", "349", "349", "2803"])
    try updateFromAnotherProcess(fixture)
    terminal.type("delete Package --where installedSize == 2903\n")
    try terminal.wait(for: "\n1\r")
    try terminal.wait(for: prompt)
    XCTAssertEqual(try sizes(fixture), ["7567", "449", "449"])
    terminal.type("quit\n")
    XCTAssertEqual(try terminal.end(), 0)
  }

  func testDeletionsByOtherProcessesAreVisible() async throws {
    let fixture = try await ToolFixture.withPackages()
    let terminal = try PseudoTerminal(fixture, ["shell", "test.store"])
    let prompt = "test.store> "
    try terminal.wait(for: prompt)
    terminal.type("update Package --all --set installedSize = 1\n")
    try terminal.wait(for: "\n4\r")
    try terminal.wait(for: prompt)
    XCTAssertEqual(try fixture.run(["delete", "test.store", "--entity", "Package", "--where", "name == 'zsh'"]).status, 0)
    terminal.type("update Package --all --set installedSize = 2\n")
    try terminal.wait(for: "\n3\r")
    try terminal.wait(for: prompt)
    terminal.type("delete Package --where installedSize == 2 AND name != 'bash'\n")
    try terminal.wait(for: "\n11\r")
    try terminal.wait(for: prompt)
    XCTAssertEqual(try sizes(fixture), ["2"])
    terminal.type("quit\n")
    XCTAssertEqual(try terminal.end(), 0)
  }

  /// Two shells and a series of processes increment the same objects. No change is lost, and no line fails.
  func testLinesOfSeveralProcessesDoNotConflict() async throws {
    let fixture = try await ToolFixture.withPackages()
    let lines = String(repeating: "update Package --all --set installedSize = installedSize + 1\n", count: 40)
    let results = try await withThrowingTaskGroup(of: ToolResult.self) { group in
      for _ in 1...2 {
        let (folder, path) = (fixture.folder.url, fixture.path("passphrase"))
        group.addTask { try ToolFixture.run(in: folder, ["shell", "test.store", "--passphrase-file", path], input: lines) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    for result in results {
      XCTAssertEqual(result.error, "")
      XCTAssertEqual(result.output, String(repeating: "4\n", count: 40))
    }
    XCTAssertEqual(try sizes(fixture), ["7244", "126", "126", "2580"])
  }

  /// A line has the same output and effect as the command of the same name.
  func testShellLinesBehaveLikeTheCommandsOfTheSameName() async throws {
    let commands = [
      ["update", "Package", "--all", "--set", "installedSize = installedSize * 2, summary = nil"],
      ["update", "Package", "--where", "section.name == 'shells'", "--set", "name = uppercase(name)"],
      ["update", "Package", "--all", "--set", "name = version, version = name"],
      ["update", "Package", "--all", "--set", "section = nil"],
      ["update", "Package", "--all", "--dry-run", "--set", "installedSize = 1"],
      ["update", "Package", "--all", "--set", "name = nil"],
      ["update", "Package", "--all", "--set", "installedSize = -1"],
      ["update", "Package", "--all", "--set", "name = 'same', version = '1', architecture = 'all'"],
      ["update", "Package", "--all", "--set", "tags = nil"],
      ["update", "Package", "--all", "--set", "size = 1"],
      ["update", "Nothing", "--all", "--set", "size = 1"],
      ["update", "Package", "--where", "nome == 1", "--set", "name = 'x'"],
      ["update", "Package", "--where", "name == 'none'", "--set", "name = nil"],
      ["update", "Package", "--all", "--set", "name = 'x'", "--where", "name == 'zsh'"],
      ["update", "Package", "--set", "name = 'x'"],
      ["delete", "Package", "--where", "name == 'bash'"],
      ["delete", "Package", "--all", "--dry-run"],
      ["delete", "Package", "--all"],
      ["delete", "Section", "--all"],
      ["delete", "Tag", "--all"],
      ["delete", "Nothing", "--all"],
      ["delete", "Package"],
      ["fetch", "Package", "--where", "installedSize > 40", "--sort", "name,architecture", "--properties", "name,section.name"],
      ["fetch", "Package", "--sort", "nome"],
      ["fetch", "Package", "--limit", "-1"],
      ["fetch", "--entity", "Package"],
    ]
    let fixture = try await ToolFixture.withPackages()
    let files = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.url.path).filter { $0.hasPrefix("test.store") }
    for (number, command) in commands.enumerated() {
      let stores = ["tool\(number)", "shell\(number)"]
      for store in stores {
        for file in files {
          try FileManager.default.copyItem(
            atPath: fixture.path(file), toPath: fixture.path(file.replacingOccurrences(of: "test.store", with: store)))
        }
      }
      let entity = command[1] == "--entity" ? [] : ["--entity"]
      let whole = try fixture.run([command[0], stores[0]] + entity + command.dropFirst())
      let line = try fixture.run(["shell", stores[1]], input: command.joined(separator: " ") + "\n")
      XCTAssertEqual(line.output, whole.output, "\(command)")
      XCTAssertEqual(line.status, whole.status, "\(command): \(line.error) \(whole.error)")
      XCTAssertEqual(line.error.isEmpty, whole.error.isEmpty, "\(command)")
      let rows = try stores.map { try fixture.run(["export", $0]).output }
      XCTAssertEqual(rows[1], rows[0], "\(command)")
    }
  }
}
