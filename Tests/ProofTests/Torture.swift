import Foundation
import XCTest
import _FaultInjection
import _FuzzTargets
import _TestSupport

/// A sequence of cases.
protocol TorturePart {
  /// Returns a case by number, starting at 0; nil after the last one.
  mutating func makeCase(_ number: Int) throws -> (any ProofCase)?
}

/// The results so far.
struct TortureFigures: Codable {
  var tried = 0
  var survived = 0
  var bad = 0
  /// The number of acknowledged operations, for parts that count them.
  var acknowledged = 0
  /// The number of the next case.
  var next = 0
  /// Whether all cases have run.
  var isComplete = false
}

/// Runs the cases of one part one after another within a time limit, starting from the results in a folder. It keeps results and failures
/// in files.
struct TortureRun {
  let part: String
  let folder: URL
  let end: Date
  /// The number of cases that completes the part.
  let target: Int
  var tell: (String) -> Void = { print($0) }

  private var figuresFile: URL { folder.appendingPathComponent("\(part).json") }
  /// A file that exists while a case runs. If it exists at the start, the process ended in that case.
  private var runningFile: URL { folder.appendingPathComponent("\(part).running") }

  private func write(_ figures: TortureFigures) throws { try JSONEncoder().encode(figures).write(to: figuresFile, options: .atomic) }

  func run(_ cases: inout some TorturePart) throws {
    var figures = TortureFigures()
    if let known = try? Data(contentsOf: figuresFile) { figures = try JSONDecoder().decode(TortureFigures.self, from: known) }
    if let number = (try? String(contentsOf: runningFile, encoding: .utf8)).flatMap({ Int($0) }) {
      figures.next = number + 1
      figures.tried += 1
      figures.bad += 1
      try keep(nil, number, "the process ended")
      try write(figures)
    }
    while Date() < end, figures.tried < target {
      guard let next = try cases.makeCase(figures.next) else {
        figures.isComplete = true
        break
      }
      try Data("\(figures.next)".utf8).write(to: runningFile)
      let problem = next.outcome
      figures.tried += next.faultCount
      figures.acknowledged += next.acknowledgedWorks
      if let problem {
        figures.bad += 1
        figures.survived += max(next.faultCount - 1, 0)
        try keep(next, figures.next, problem)
      } else {
        figures.survived += next.faultCount
      }
      figures.next += 1
      try write(figures)
      unlink(runningFile.path)
    }
    if figures.tried >= target { figures.isComplete = true }
    try write(figures)
    unlink(runningFile.path)
  }

  /// Keeps the files that reproduce a failure.
  private func keep(_ failed: (any ProofCase)?, _ number: Int, _ problem: String) throws {
    let place = folder.appendingPathComponent("failures/\(part)-\(number)")
    try FileManager.default.createDirectory(at: place.appendingPathComponent("files"), withIntermediateDirectories: true)
    try Data((problem + "\n").utf8).write(to: place.appendingPathComponent("problem.txt"))
    try failed?.keep(in: place.appendingPathComponent("files"))
    tell("FAILED \(part) \(number): \(problem)")
  }
}

enum TortureError: Error {
  /// A program built with the tests is missing next to them.
  case noProgram(String)
  /// A process did not respond.
  case noAnswer(String)
  /// SQLite was used before its allocator could be installed.
  case memoryIsGiven
  case noSuchPart(String)
}

/// Power losses in each workload in turn, alternating between both durabilities.
struct PowerTorture: TorturePart {
  let seed: UInt64
  private var works: [Int: RecordedWork] = [:]

  init(seed: UInt64) { self.seed = seed }

  mutating func makeCase(_ number: Int) throws -> (any ProofCase)? {
    let index = number % (2 * ProofWork.all.count)
    let work = try works[index] ?? Rehearsal.record(ProofWork.all[index / 2], isFast: index % 2 == 1)
    works[index] = work
    return PowerCut(work, seed: seed &* 1_000_003 &+ UInt64(number))
  }
}

/// Every way in which every call of every operation can fail, in random order, so that a partial run is a sample of all.
struct CallTorture: TorturePart {
  private var random: SeededGenerator
  private var cases: [FailingCall]?

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func makeCase(_ number: Int) throws -> (any ProofCase)? {
    let cases = try cases ?? FailingWork.all.flatMap { try FailingWorkBase($0).failingCalls }.shuffled(using: &random)
    self.cases = cases
    if number == 0 { print("There are \(cases.count) cases.") }
    return number < cases.count ? cases[number] : nil
  }
}

/// Every failing allocation of SQLite, in random order.
struct MemoryTorture: TorturePart {
  private var random: SeededGenerator
  private var cases: [FailingMemory]?

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func makeCase(_ number: Int) throws -> (any ProofCase)? {
    if cases == nil, !fault_memory_install() { throw TortureError.memoryIsGiven }
    let cases = try cases ?? FailingMemory.works.flatMap { try FailingWorkBase($0).failingPieces }.shuffled(using: &random)
    self.cases = cases
    if number == 0 { print("There are \(cases.count) cases.") }
    return number < cases.count ? cases[number] : nil
  }
}

/// Killed processes on one store, with the themes in turn.
struct KillTorture: TorturePart {
  let seed: UInt64
  let themes: [KillTheme]
  private var writer: KillWriter?

  init(_ themes: [KillTheme], seed: UInt64) { (self.themes, self.seed) = (themes, seed) }

  mutating func makeCase(_ number: Int) throws -> (any ProofCase)? {
    let writer = try writer ?? KillWriter()
    self.writer = writer
    return KilledWriters(writer, theme: themes[number % themes.count], seed: seed &* 1_000_003 &+ UInt64(number))
  }
}

/// Processes that are killed while their stores are synchronized, with the restorations in turn.
struct SyncTorture: TorturePart {
  let seed: UInt64

  func makeCase(_ number: Int) throws -> (any ProofCase)? {
    let restorations = SyncedClients.Restoration.tried
    return SyncedClients(restorations[number % restorations.count], seed: seed &* 1_000_003 &+ UInt64(number))
  }
}

/// Operations of several processes on one store.
struct OperationTorture: TorturePart {
  let seed: UInt64

  func makeCase(_ number: Int) throws -> (any ProofCase)? { ConcurrentOperations(seed: seed &* 1_000_003 &+ UInt64(number)) }
}

/// Damaged files of stores. The stores are kept in the folder of the results, so that cases are reproducible.
struct DamageTorture: TorturePart {
  let seed: UInt64
  let folder: URL
  private var bases: [DamageBase]?

  init(seed: UInt64, folder: URL) { (self.seed, self.folder) = (seed, folder) }

  mutating func makeCase(_ number: Int) throws -> (any ProofCase)? {
    let bases = try bases ?? known()
    self.bases = bases
    return DamagedFile(bases[number % bases.count], seed: seed &* 1_000_003 &+ UInt64(number))
  }

  private func known() throws -> [DamageBase] {
    let place = folder.appendingPathComponent("bytes.stores")
    if let data = try? Data(contentsOf: place) { return try JSONDecoder().decode([DamageBase].self, from: data) }
    let bases = try DamageBase.make()
    try JSONEncoder().encode(bases).write(to: place, options: .atomic)
    return bases
  }
}

/// Parsers under libFuzzer, in turn.
struct FuzzTorture: TorturePart {
  let seed: UInt64
  let folder: URL
  /// The number of inputs per run.
  static let inputs = 200_000

  func makeCase(_ number: Int) throws -> (any ProofCase)? {
    guard let program = ProcessInfo.processInfo.environment["CIPHERDATA_FUZZ_PROGRAM"] else { throw TortureError.noProgram("fuzz") }
    let targets = FuzzTarget.all
    return FuzzRun(
      program: URL(fileURLWithPath: program), target: targets[number % targets.count].name, seed: seed &* 1_000_003 &+ UInt64(number),
      inputs: Self.inputs, folder: folder)
  }
}
