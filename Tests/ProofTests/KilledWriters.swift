import Foundation
import ObjectModel
import ObjectStore
import SQLCipherStore
import StoreKeys
import Synchronization
import XCTest
import _FaultInjection
import _ProofStore
import _StoreSpecification
import _TestSupport

/// What the processes of a round do.
struct KillTheme: Sendable {
  var name: String
  var roles: [KillRole]
  /// The roles one of which is always present.
  var first: [KillRole]
  var hasStore = true
  var hasHistory = false
  /// Whether other stores replace the store.
  var isReplaced = false
  /// Whether a migration makes a backup first.
  var backsUp = false
  /// The maximum number of processes.
  var most = 8

  static let all = [
    KillTheme(name: "saves", roles: [.save, .batch, .visit], first: [.save]),
    KillTheme(name: "passphrases", roles: [.passphrase, .save, .visit], first: [.passphrase]),
    KillTheme(name: "rotation", roles: [.rotate, .visit, .compact], first: [.rotate]),
    KillTheme(name: "compaction", roles: [.compact, .visit, .save], first: [.compact]),
    KillTheme(name: "copies", roles: [.backUp, .save, .batch], first: [.backUp]),
    KillTheme(name: "migration", roles: [.migrate, .save, .visit], first: [.migrate]),
    KillTheme(name: "history", roles: [.purge, .save, .batch], first: [.purge], hasHistory: true),
    KillTheme(name: "making", roles: [.save, .visit], first: [.save], hasStore: false),
    KillTheme(name: "the tool", roles: [.tool, .visit], first: [.tool]),
  ]

  /// Migrations that make a backup first. Like the next ones, they have separate numbers.
  static let copyingThemes = [
    KillTheme(name: "migration with a copy", roles: [.migrate, .migrate, .visit], first: [.migrate], backsUp: true, most: 4)
  ]

  /// Operations of the tool that the other themes lack. Their separate numbers keep the cases of those themes the same.
  static let toolThemes = [
    KillTheme(name: "the tool's migration", roles: [.toolMigrate, .save, .visit, .backUp], first: [.toolMigrate]),
    KillTheme(name: "the tool's history", roles: [.toolHistory, .visit], first: [.toolHistory]),
    KillTheme(name: "the tool's replacing", roles: [.toolReplace, .look], first: [.toolReplace], isReplaced: true),
    KillTheme(name: "the tool's removing", roles: [.toolRemove, .look], first: [.toolRemove], isReplaced: true),
    KillTheme(name: "copies by the tool", roles: [.tool], first: [.tool]),
    // Each key costs half a second and 128 MiB.
    KillTheme(name: "the tool's keys", roles: [.toolKeys, .toolKeys, .visit], first: [.toolKeys], most: 3),
  ]
}

/// One round of processes that use a store until some are killed, and a check of the result. The seed determines the orders; the
/// interleaving of the processes is random.
struct KilledWriters: ProofCase {
  let writer: KillWriter
  let theme: KillTheme
  let seed: UInt64
  private let result = Result()

  /// The statistics of a finished round.
  private final class Result: Sendable {
    let counts = Mutex((kills: 0, acknowledged: 0))
    let folder = Mutex<TemporaryFolder?>(nil)
  }

  init(_ writer: KillWriter, theme: KillTheme, seed: UInt64) { (self.writer, self.theme, self.seed) = (writer, theme, seed) }

  var description: String { "\(theme.name), seed \(seed)" }
  var faultCount: Int { result.counts.withLock { $0.kills } }
  var acknowledgedWorks: Int { result.counts.withLock { $0.acknowledged } }

  func keep(in folder: URL) throws {
    guard let played = result.folder.withLock({ $0 }) else { return }
    for name in try FileManager.default.contentsOfDirectory(atPath: played.url.path) {
      try FileManager.default.copyItem(at: played.file(name), to: folder.appendingPathComponent(name))
    }
  }

  func problem() throws -> String? {
    let folder = try TemporaryFolder("KilledWriters")
    result.folder.withLock { $0 = folder }
    let round = try makeRound(folder)
    let ends = try writer.play(round)
    let kills = ends.count { $0.signal == SIGKILL }
    result.counts.withLock { $0.kills = kills }
    for end in ends where end.signal != 0 && end.signal != SIGKILL {
      return "process \(end.number), \(round.orders[end.number].role.rawValue), ended by signal \(end.signal)"
    }
    var journals: [KillJournal] = []
    for order in round.orders {
      let journal = try KillJournal(round.journal(order.number))
      if let failure = journal.failure { return "process \(order.number), \(order.role.rawValue): \(failure)" }
      journals.append(journal)
    }
    for end in ends where end.status != 0 {
      return "process \(end.number), \(round.orders[end.number].role.rawValue), ended with status \(end.status)"
    }
    result.counts.withLock { $0.acknowledged = journals.reduce(0) { $0 + $1.acknowledged } }
    if theme.isReplaced { return try ReplacementVerification(round: round, journals: journals).problem() }
    return try KillVerification(round: round, journals: journals, before: theme.hasStore ? Self.films : []).problem()
  }

  // MARK: The round

  private static let films = (0..<12).map { "before \($0)" }

  private func makeRound(_ folder: TemporaryFolder) throws -> KillRound {
    var random = SeededGenerator(seed: seed)
    // The processes wait for locks: none holds one for long.
    var settings = ProofSettings(hasHistory: theme.hasHistory, patience: 30)
    settings.backsUp = theme.backsUp
    let orders = (0..<Int.random(in: 2...theme.most, using: &random)).map { number in
      let role = (number == 0 ? theme.first : theme.roles).randomElement(using: &random) ?? .save
      // Every fifth process survives on average.
      let blow = Int.random(in: 0..<5, using: &random) == 0 ? nil : Self.blow(&random)
      return KillOrder(number: number, role: role, seed: random.next(), steps: Int.random(in: 2...8, using: &random), blow: blow)
    }
    let round = KillRound(folder: folder.url, settings: settings, orders: orders)
    for name in ["store", "journal"] {
      try FileManager.default.createDirectory(
        at: folder.file(name), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
    try Data("\(Self.toolPassphrase)\n".utf8).write(to: folder.file("journal/passphrase"))
    guard theme.hasStore else { return round }
    if theme.isReplaced {
      try ReplacementVerification.makeSources(round)
      return round
    }
    try Self.make(round.store, Self.films, settings)
    if theme.roles.contains(.toolMigrate) { try ProofModel.second.write(to: round.newerModel) }
    return round
  }

  /// Makes a store with films, which the tool's passphrase unlocks too.
  static func make(_ url: URL, _ films: [String], _ settings: ProofSettings) throws {
    let store = try settings.open(url)
    try store.addFilms(films)
    try store.close()
    let file = try settings.unlock(url)
    try waitFor { _ = try await file.addKey(.passphrase(toolPassphrase, .cheapForTests())) }
  }

  static let toolPassphrase = "the tool's"

  private static func blow(_ random: inout SeededGenerator) -> KillBlow {
    if Int.random(in: 0..<4, using: &random) == 0 { return .after(UInt32.random(in: 1_000...150_000, using: &random)) }
    return callBlow(&random)
  }

  /// Returns a random call.
  ///
  /// - Parameter scale: The factor by which there are more calls than in a round.
  static func callBlow(_ random: inout SeededGenerator, scale: Int = 1) -> KillBlow {
    let calls: [(FaultCall, most: Int)] = [
      (.write, 256), (.write, 256), (.write, 1_024), (.sync, 32), (.name, 32), (.size, 8), (.lock, 256), (.open, 64), (.map, 8),
      (.read, 512),
    ]
    let (call, most) = calls.randomElement(using: &random) ?? (.write, 64)
    // Early calls are as likely as late ones, on a logarithmic scale.
    let number = Int(exp2(Double.random(in: 0...log2(Double(most * scale)), using: &random)))
    return .call(call, number, isHalfway: call == .write && Bool.random(using: &random))
  }
}

/// The program that forks the processes of rounds.
final class KillWriter: Sendable {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  init() throws {
    process.executableURL = try TestProgram.url(of: "_ProofWriter")
    process.standardInput = input
    process.standardOutput = output
    // A missing response reports a process that has ended.
    signal(SIGPIPE, SIG_IGN)
    try process.run()
  }

  deinit { try? input.fileHandleForWriting.close() }

  func play(_ round: KillRound) throws -> [KillEnd] {
    try input.fileHandleForWriting.write(contentsOf: try JSONEncoder().encode(round) + [0x0A])
    var line = Data()
    while line.last != 0x0A {
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else { throw TortureError.noAnswer("the program that forks the writers has ended") }
      line += more
    }
    do { return try JSONDecoder().decode([KillEnd].self, from: line) } catch {
      throw TortureError.noAnswer(String(decoding: line, as: UTF8.self))
    }
  }
}
