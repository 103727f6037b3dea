import CipherDataToolKit
import Foundation
import ObjectStore
import _ProofStore
import _StoreSpecification
import _TestSupport

extension KillActor {
  /// Runs a command of the tool as a step.
  ///
  /// - Parameters:
  ///   - secret: The passphrase file; nil if the command takes none.
  ///   - refusals: The exit statuses that mean that another process interfered.
  func run(
    _ command: [String], as step: KillStep, secret: URL?, refusals: Set<ExitStatus> = [.busy]
  ) throws -> Bool {
    var step = step
    step.name = "tool " + command.filter { !$0.contains("/") }.prefix(3).joined(separator: " ")
    let arguments = command + (secret.map { ["--passphrase-file", $0.path] } ?? [])
    redirectOutput()
    return try self.step(step) {
      let status = try waitFor { await Tool.run(arguments) }
      if status == ExitStatus.success.rawValue { return }
      if refusals.contains(where: { $0.rawValue == status }) { throw StoreError(.busy, "the tool says so") }
      throw ToolExit(command: command.joined(separator: " "), status: status)
    }
  }

  var toolSecret: URL { round.folder.appendingPathComponent("journal/passphrase") }
  /// A file that only this process uses.
  private func file(_ name: String) -> URL { round.folder.appendingPathComponent("journal/\(order.number).\(name)") }
  func newName(_ kind: String) -> String { "\(kind).\(order.number).\(UInt32.random(in: 0...UInt32.max, using: &random))" }
  func place(_ name: String) -> String { round.storeFolder.appendingPathComponent(name).path }

  func useTool() throws {
    let store = round.store.path
    let prefix = "p\(order.number)."
    let year = Int.random(in: 1_900...2_000, using: &random)
    var step = KillStep("tool")
    var command: [String]
    switch Int.random(in: 0..<13, using: &random) {
    case 3 where !titles.isEmpty:
      command = ["update", store, "--entity", "Film", "--set", "year = \(year)", "--where", "title BEGINSWITH '\(prefix)'"]
      for title in titles { step.films[title] = ProofFilm.line(title, year: year, poster: nil) }
    case 4 where !titles.isEmpty:
      command = ["delete", store, "--entity", "Film", "--where", "title BEGINSWITH '\(prefix)'"]
      for title in titles { step.films[title] = .some(nil) }
    case 5:
      let copy = newName("copy")
      step.copy = KillCopy(copy)
      command = ["backup", store, place(copy)]
    case 6: command = ["compact", store]
    case 7: command = ["key", "rotate", store]
    case 8: command = ["statistics", store]
    case 9: command = ["verify", store, "--quick", "--sweep"]
    case 10, 11:
      let copy = newName("plain")
      step.copy = KillCopy(copy, .plain)
      command = ["decrypt", store, place(copy)]
    case 12 where plainCopy != nil:
      let copy = newName("copy")
      step.copy = KillCopy(copy, .toolKey)
      command = ["encrypt", place(plainCopy ?? ""), place(copy)]
    default: return try importByTool(year: year)
    }
    guard try run(command, as: step, secret: toolSecret) else { return }
    if command[0] == "delete" { titles = [] }
    if let copy = step.copy, copy.kind == .plain { plainCopy = copy.name }
  }

  func importByTool(year: Int) throws {
    var step = KillStep("tool")
    let new = newTitles(Int.random(in: 1...8, using: &random))
    let lines = new.map { #"{"title":"\#($0)","year":\#(year)}"# + "\n" }.joined()
    let input = file("input")
    try Data(lines.utf8).write(to: input)
    for title in new { step.films[title] = ProofFilm.line(title, year: year, poster: nil) }
    if try run(["import", round.store.path, input.path, "--entity", "Film"], as: step, secret: toolSecret) { titles += new }
  }

  // MARK: Keys, models, histories

  func changeKeysByTool() throws {
    let store = round.store.path
    let new = "p\(order.number).\(UInt32.random(in: 0...UInt32.max, using: &random))"
    try Data((new + "\n").utf8).write(to: file("new"))
    var step = KillStep("tool")
    (step.passphrase, step.formerPassphrase) = (new, passphrase)
    guard let former = passphrase else {
      if try run(["key", "add", store, "--new-passphrase-file", file("new").path], as: step, secret: toolSecret) { passphrase = new }
      return
    }
    try Data((former + "\n").utf8).write(to: file("former"))
    if try run(["key", "change", store, "--new-passphrase-file", file("new").path], as: step, secret: file("former")) { passphrase = new }
  }

  func migrateByTool() throws {
    var step = KillStep("tool")
    step.migrates = true
    var command = ["migrate", round.store.path, "--model", round.newerModel.path]
    if Bool.random(using: &random) { command += ["--backup", place(newName("before"))] }
    if Bool.random(using: &random) { command.append("--defer") }
    if Int.random(in: 0..<4, using: &random) == 0 { command = ["migrate", round.store.path, "--finish"] }
    step.migrates = !command.contains("--finish")
    _ = try run(command, as: step, secret: toolSecret)
  }

  func changeHistoryByTool() throws {
    let history = ["history", round.store.path]
    switch Int.random(in: 0..<6, using: &random) {
    case 0: _ = try run(history + ["--enable"], as: KillStep("tool"), secret: toolSecret)
    case 1: _ = try run(history + ["--enable", "--values"], as: KillStep("tool"), secret: toolSecret)
    case 2: _ = try run(history + ["--disable"], as: KillStep("tool"), secret: toolSecret)
    // Another process may have ended or restarted the history.
    case 3:
      let now = ISO8601DateFormatter().string(from: Date())
      _ = try run(history + ["--purge-before", now], as: KillStep("tool"), secret: toolSecret, refusals: [.busy, .badData])
    default: try importByTool(year: 1_950)
    }
  }

  // MARK: Replacement and removal

  func replaceByTool() throws {
    let source = KillRound.sources.randomElement(using: &random) ?? "a"
    _ = try run(["replace", round.store.path, round.source(source).path, "--yes"], as: KillStep("tool"), secret: toolSecret)
  }

  func removeByTool() throws {
    // Reading a store during its removal, or creating one concurrently, fails in one of several ways.
    let refusals: Set<ExitStatus> = [.busy, .noInput, .cannotCreate, .noKey, .damage]
    var step = KillStep("tool")
    switch Int.random(in: 0..<6, using: &random) {
    case 0: try replaceByTool()
    case 1, 2:
      step.removes = true
      _ = try run(["destroy", round.store.path, "--yes"], as: step, secret: nil, refusals: [.busy, .noInput])
    case 3, 4:
      step.removes = true
      _ = try run(
        ["encrypt", round.source(KillRound.plainSource).path, round.store.path], as: step, secret: toolSecret,
        refusals: [.busy, .cannotCreate])
    default:
      let copy = newName("plain")
      step.copy = KillCopy(copy, .plain)
      _ = try run(["decrypt", round.store.path, place(copy)], as: step, secret: toolSecret, refusals: refusals)
    }
  }

  /// Reads the whole store, and checks that it is one of the two.
  func look() throws {
    var settings = settings
    settings.makesStore = false
    _ = try step(KillStep("look")) {
      do {
        let films = try settings.contents(round.store).filter { $0.contains(" ") && !$0.hasPrefix("tag ") }
        let names = Set(films.compactMap(\.first))
        guard names.count == 1, films.count == KillRound.filmsOfSource else { throw UnexpectedStore(films: films) }
      } catch let error as StoreError
        where round.orders.contains(where: { $0.role == .toolRemove })
        && [.storeNotFound, .keyFileMissing, .keyFileCorrupt, .notAStore, .wrongKey].contains(error.code)
      {
        // The store is being removed, or imported from a plaintext copy with another key.
        throw StoreError(.busy, "\(error)")
      }
    }
    usleep(2_000)
  }

  /// Redirects the tool's output to a file.
  private func redirectOutput() {
    let file = open(round.output(order.number).path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard file >= 0 else { return }
    dup2(file, STDOUT_FILENO)
    dup2(file, STDERR_FILENO)
    Foundation.close(file)
  }
}

/// A command of the tool that unexpectedly failed.
struct ToolExit: Error {
  var command: String
  var status: Int32
}

/// A store whose contents match none of the expected ones.
struct UnexpectedStore: Error { var films: [String] }
