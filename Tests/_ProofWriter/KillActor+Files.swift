// KillActor+Files: passphrases, data keys, compaction, copies, and the tool's commands.
import CipherDataToolKit
import Foundation
import ObjectStore
import SQLCipherStore
import StoreKeys
import _ProofStore
import _StoreSpecification

extension KillActor {
  private func withFile(_ body: @escaping @Sendable (SQLCipherStoreFile) async throws -> Void) throws {
    let file = try settings.unlock(round.store)
    try waitFor { try await body(file) }
  }

  func changePassphrase() throws {
    let new = "p\(order.number).\(UInt32.random(in: 0...UInt32.max, using: &random))"
    let former = passphrase
    var step = KillStep("passphrase")
    (step.passphrase, step.formerPassphrase) = (new, former)
    let isDone = try self.step(step) {
      try withFile { file in
        let key = StoreKey.passphrase(new, .cheapForTests())
        guard let former else {
          _ = try await file.addKey(key)
          return
        }
        _ = try await file.changeKey(from: .passphrase(former, .cheapForTests()), to: key)
      }
    }
    if isDone { passphrase = new }
  }

  func rotate() throws {
    _ = try step(KillStep("rotate")) { try withFile { try await $0.rotateDataKey() } }
    usleep(3_000)
  }

  func compact() throws {
    _ = try step(KillStep("compact")) { try withFile { _ = try await $0.compact() } }
    usleep(3_000)
  }

  func backUp() throws {
    var step = KillStep("back up")
    let copy = "copy.\(order.number).\(UInt32.random(in: 0...UInt32.max, using: &random))"
    step.copy = copy
    let place = round.storeFolder.appendingPathComponent(copy)
    _ = try self.step(step) { try withFile { try await $0.backUp(to: place) } }
  }

  // MARK: The tool

  /// The passphrase of the slot that the tool uses.
  static let toolPassphrase = "the tool's"

  func useTool() throws {
    let store = round.store.path
    let input = round.folder.appendingPathComponent("journal/\(order.number).input")
    let prefix = "p\(order.number)."
    let year = Int.random(in: 1_900...2_000, using: &random)
    var step = KillStep("tool")
    var command: [String]
    var new: [String] = []
    let kind = Int.random(in: 0..<9, using: &random)
    switch kind {
    case 3 where !titles.isEmpty:
      command = ["update", store, "--entity", "Film", "--set", "year = \(year)", "--where", "title BEGINSWITH '\(prefix)'"]
      for title in titles { step.films[title] = ProofFilm.line(title, year: year, poster: nil) }
    case 4 where !titles.isEmpty:
      command = ["delete", store, "--entity", "Film", "--where", "title BEGINSWITH '\(prefix)'"]
      for title in titles { step.films[title] = .some(nil) }
    case 5:
      let copy = "copy.\(order.number).\(UInt32.random(in: 0...UInt32.max, using: &random))"
      step.copy = copy
      command = ["backup", store, round.storeFolder.appendingPathComponent(copy).path]
    case 6: command = ["compact", store]
    case 7: command = ["key", "rotate", store]
    case 8: command = ["statistics", store]
    default:
      new = newTitles(Int.random(in: 1...8, using: &random))
      let lines = new.map { #"{"title":"\#($0)","year":\#(year)}"# + "\n" }.joined()
      try Data(lines.utf8).write(to: input)
      command = ["import", store, input.path, "--entity", "Film"]
      for title in new { step.films[title] = ProofFilm.line(title, year: year, poster: nil) }
    }
    step.name = "tool \(command[0])"
    let secret = round.folder.appendingPathComponent("journal/passphrase").path
    let arguments = command + ["--passphrase-file", secret]
    redirectOutput()
    let isDone = try self.step(step) {
      switch try waitFor({ await Tool.run(arguments) }) {
      case ExitStatus.success.rawValue: return
      case ExitStatus.busy.rawValue: throw StoreError(.busy, "the tool says so")
      case let status: throw ToolEnding(command: command.joined(separator: " "), status: status)
      }
    }
    guard isDone else { return }
    titles += new
    if command[0] == "delete" { titles = [] }
  }

  /// What the tool prints goes into a file.
  private func redirectOutput() {
    let file = open(round.output(order.number).path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { return }
    dup2(file, STDOUT_FILENO)
    dup2(file, STDERR_FILENO)
    Foundation.close(file)
  }
}

/// A command of the tool that should have succeeded.
struct ToolEnding: Error {
  var command: String
  var status: Int32
}
