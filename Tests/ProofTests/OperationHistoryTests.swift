import Foundation
import XCTest
import _ProofStore
import _TestSupport

/// The checker of operations accepts histories of one store, and finds each kind of anomaly.
final class OperationHistoryTests: XCTestCase {
  private typealias Step = RecordedOperation.Step

  /// A history that is made of operations one after the other, or at the same time.
  private struct Builder {
    var operations: [RecordedOperation] = []
    private var time: UInt64 = 1_000_000_000

    /// Adds an operation that begins when the one before has ended.
    mutating func add(
      _ process: Int, _ kind: RecordedOperation.Kind = .serial, _ outcome: RecordedOperation.Outcome = .committed, _ steps: Step...
    ) {
      time += 1_000_000_000
      operations.append(RecordedOperation(process, kind, outcome, from: time, to: time + 1_000_000, steps))
    }

    /// Lets the last operations overlap.
    mutating func overlap(_ count: Int) {
      for index in operations.indices.suffix(count) {
        operations[index].begin = operations[operations.count - count].begin
        operations[index].end = time + 1_000_000
      }
    }

    func history(_ last: Step...) -> OperationHistory {
      OperationHistory(operations, last: RecordedOperation(99, .serial, from: time + 5_000_000_000, to: time + 6_000_000_000, last))
    }
  }

  private func assert(
    _ history: OperationHistory, finds kinds: HistoryAnomaly.Kind..., file: StaticString = #filePath, line: UInt = #line
  ) {
    XCTAssertEqual(Set(history.anomalies.map(\.kind)), Set(kinds), "\(history.anomalies)", file: file, line: line)
  }

  func testOperationsOneAfterTheOtherAreAccepted() {
    var builder = Builder()
    builder.add(1, .serial, .committed, .readList(1, []), .append(1, 10), .readRegister(1, 0), .write(1, 11))
    builder.add(2, .snapshot, .committed, .readList(1, [10]), .readRegister(1, 11), .append(1, 20))
    builder.add(1, .serial, .aborted, .readList(1, [10]), .append(1, 12))
    builder.add(2, .read, .committed, .readList(1, [10, 20]), .readRegister(1, 11))
    builder.add(1, .serial, .committed, .readRegister(1, 11), .write(1, 13), .write(1, 14), .readRegister(1, 14))
    assert(builder.history(.readList(1, [10, 20]), .readRegister(1, 14)))
  }

  func testOperationsOfAKilledProcessMayHaveHadAnEffect() {
    for isThere in [true, false] {
      var builder = Builder()
      builder.add(1, .serial, .unknown, .readList(1, []), .append(1, 10), .readRegister(1, 0), .write(1, 11))
      builder.add(2, .serial, .committed, .readRegister(2, 0), .write(2, 20))
      assert(builder.history(.readList(1, isThere ? [10] : []), .readRegister(1, isThere ? 11 : 0), .readRegister(2, 20)))
    }
    // One half of it is not enough.
    var builder = Builder()
    builder.add(1, .serial, .unknown, .readList(1, []), .append(1, 10), .readRegister(1, 0), .write(1, 11))
    assert(builder.history(.readList(1, [10]), .readRegister(1, 0)), finds: .lostUpdate)
    assert(builder.history(.readList(1, []), .readRegister(1, 11)), finds: .lostUpdate)
  }

  func testLostUpdatesAreFound() {
    // Two operations have replaced the same number.
    var builder = Builder()
    builder.add(1, .serial, .committed, .readRegister(1, 0), .write(1, 10))
    builder.add(2, .serial, .committed, .readRegister(1, 0), .write(1, 20))
    builder.overlap(2)
    assert(builder.history(.readRegister(1, 20)), finds: .lostUpdate)
    // What was appended is gone.
    builder = Builder()
    builder.add(1, .serial, .committed, .readList(1, []), .append(1, 10))
    builder.add(2, .serial, .committed, .readList(1, []), .append(1, 20))
    builder.overlap(2)
    assert(builder.history(.readList(1, [20])), finds: .lostUpdate)
    // It was there once.
    builder = Builder()
    builder.add(1, .serial, .committed, .readList(1, []), .append(1, 10))
    builder.add(2, .read, .committed, .readList(1, [10]))
    assert(builder.history(.readList(1, [])), finds: .cycle)
    // A register has an earlier number again.
    builder = Builder()
    builder.add(1, .serial, .committed, .readRegister(1, 0), .write(1, 10))
    builder.add(1, .serial, .committed, .readRegister(1, 10), .write(1, 11))
    assert(builder.history(.readRegister(1, 10)), finds: .lostUpdate)
  }

  func testReadsOfAbortedOperationsAreFound() {
    var builder = Builder()
    builder.add(1, .serial, .aborted, .readList(1, []), .append(1, 10), .readRegister(1, 0), .write(1, 11))
    builder.add(2, .read, .committed, .readList(1, [10]))
    assert(builder.history(.readList(1, [10])), finds: .abortedRead)
    builder.operations[1].steps = [.readRegister(1, 11)]
    assert(builder.history(.readList(1, []), .readRegister(1, 0)), finds: .abortedRead)
    // Operations that fail themselves must not see it either.
    builder.operations[1].outcome = .aborted
    assert(builder.history(.readList(1, []), .readRegister(1, 0)), finds: .abortedRead)
  }

  func testReadsOfIntermediateStatesAreFound() {
    var builder = Builder()
    builder.add(1, .serial, .committed, .readList(1, []), .append(1, 10), .append(1, 11), .readRegister(1, 0), .write(1, 12), .write(1, 13))
    builder.add(2, .read, .committed, .readList(1, [10]))
    builder.overlap(2)
    assert(builder.history(.readList(1, [10, 11]), .readRegister(1, 13)), finds: .intermediateRead)
    builder.operations[1].steps = [.readRegister(1, 12)]
    assert(builder.history(.readList(1, [10, 11]), .readRegister(1, 13)), finds: .intermediateRead)
  }

  func testOtherImpossibleReadsAreFound() {
    func history(_ first: [Int32], _ second: [Int32]) -> OperationHistory {
      var builder = Builder()
      builder.add(1, .serial, .committed, .readList(1, []), .append(1, 10))
      builder.add(1, .serial, .committed, .readList(1, [10]), .append(1, 11))
      builder.add(2, .read, .committed, .readList(1, first))
      return builder.history(.readList(1, second))
    }
    assert(history([10, 11], [10, 11]))
    assert(history([11, 10], [10, 11]), finds: .contradictoryReads)
    assert(history([10, 10], [10, 11]), finds: .duplicate, .contradictoryReads)
    assert(history([10, 12], [10, 11]), finds: .unwrittenRead, .contradictoryReads)
    var builder = Builder()
    builder.add(1, .serial, .committed, .readList(1, []), .append(1, 10), .readList(1, []))
    assert(builder.history(.readList(1, [10])), finds: .ownWriteMissing)
  }

  func testAReadThatMissesWhatWasCommittedLongBeforeIsFound() {
    var builder = Builder()
    builder.add(1, .serial, .committed, .readRegister(1, 0), .write(1, 10))
    builder.add(2, .read, .committed, .readRegister(1, 0))
    assert(builder.history(.readRegister(1, 10)), finds: .cycle)
    // At the same time it may.
    builder.overlap(2)
    assert(builder.history(.readRegister(1, 10)))
    // Shortly after it may too, but not an operation that changes what it has read.
    builder.operations[1].begin = builder.operations[0].end + 1_000_000
    assert(builder.history(.readRegister(1, 10)))
    builder.operations[1].kind = .serial
    assert(builder.history(.readRegister(1, 10)), finds: .cycle)
  }

  func testAProcessThatReadsAnOlderStateThanBeforeIsFound() {
    var builder = Builder()
    builder.add(1, .serial, .committed, .readRegister(1, 0), .write(1, 10))
    builder.add(2, .read, .committed, .readRegister(1, 10))
    builder.add(2, .read, .committed, .readRegister(1, 0))
    builder.overlap(3)
    assert(builder.history(.readRegister(1, 10)), finds: .cycle)
  }

  func testCyclesOfCausalityAreFound() {
    // Each has read what the other one has written.
    var builder = Builder()
    builder.add(1, .serial, .committed, .readRegister(1, 0), .write(1, 10), .readRegister(2, 20))
    builder.add(2, .serial, .committed, .readRegister(2, 0), .write(2, 20), .readRegister(1, 10))
    builder.overlap(2)
    assert(builder.history(.readRegister(1, 10), .readRegister(2, 20)), finds: .cycle)
    // One is before the other in one list, and after it in another one.
    builder = Builder()
    builder.add(1, .serial, .committed, .readList(1, []), .append(1, 10), .readList(2, [20]), .append(2, 11))
    builder.add(2, .serial, .committed, .readList(2, []), .append(2, 20), .readList(1, [10]), .append(1, 21))
    builder.overlap(2)
    assert(builder.history(.readList(1, [10, 21]), .readList(2, [20, 11])), finds: .cycle)
    // A reader sees the second of two operations, and not the first one, which the second had read.
    builder = Builder()
    builder.add(1, .serial, .committed, .readList(1, []), .append(1, 10))
    builder.add(2, .serial, .committed, .readList(1, [10]), .readList(2, []), .append(2, 20))
    builder.add(3, .read, .committed, .readList(2, [20]), .readList(1, []))
    builder.overlap(3)
    assert(builder.history(.readList(1, [10]), .readList(2, [20])), finds: .cycle)
  }

  func testAReaderSeesAllOfAnOperationOrNothing() {
    for kind in [RecordedOperation.Kind.read, .snapshot, .serial] {
      var builder = Builder()
      builder.add(1, .serial, .committed, .readRegister(1, 0), .write(1, 10), .readRegister(2, 0), .write(2, 11))
      builder.add(2, kind, .committed, .readRegister(1, 10), .readRegister(2, 0))
      builder.overlap(2)
      assert(builder.history(.readRegister(1, 10), .readRegister(2, 11)), finds: .cycle)
    }
  }

  func testOnlySnapshotsMayMissEachOther() {
    for kind in [RecordedOperation.Kind.snapshot, .serial] {
      var builder = Builder()
      builder.add(1, kind, .committed, .readRegister(1, 0), .readRegister(2, 0), .write(1, 10))
      builder.add(2, kind, .committed, .readRegister(1, 0), .readRegister(2, 0), .write(2, 20))
      builder.overlap(2)
      let history = builder.history(.readRegister(1, 10), .readRegister(2, 20))
      if kind == .snapshot { assert(history) } else { assert(history, finds: .cycle) }
    }
  }

  func testSnapshotsSeeTheStatesInOneOrder() {
    // Two operations on different registers, which two readers see in different orders.
    var builder = Builder()
    builder.add(1, .serial, .committed, .readRegister(1, 0), .write(1, 10))
    builder.add(2, .serial, .committed, .readRegister(2, 0), .write(2, 20))
    builder.add(3, .read, .committed, .readRegister(1, 10), .readRegister(2, 0))
    builder.add(4, .read, .committed, .readRegister(1, 0), .readRegister(2, 20))
    builder.overlap(4)
    assert(builder.history(.readRegister(1, 10), .readRegister(2, 20)), finds: .cycle)
  }

  func testTheShortestCycleIsReported() throws {
    var builder = Builder()
    for number in 0..<50 { builder.add(1, .serial, .committed, .readRegister(1, Int32(number)), .write(1, Int32(number + 1))) }
    builder.add(2, .read, .committed, .readRegister(1, 20))
    let anomaly = try XCTUnwrap(builder.history(.readRegister(1, 50)).anomalies.first)
    XCTAssertEqual(anomaly.text.components(separatedBy: ", then ").count, 2, anomaly.text)
  }

  /// A store that is one value behind a lock gives histories that are accepted; with a fault they are not.
  func testRandomHistories() {
    for seed in 0..<40 {
      var random = SeededGenerator(seed: UInt64(seed))
      var (lists, builder, value): ([Int32: [Int32]], Builder, Int32) = ([:], Builder(), 0)
      // The fault: one read of an old state, or one lost value.
      let fault = seed % 2 == 0 ? nil : Int.random(in: 100..<150, using: &random)
      var (old, hasFault) = (lists, false)
      for number in 0..<200 {
        if number % 20 == 0 { old = lists }
        let key = Int32.random(in: 0..<3, using: &random)
        let list = lists[key] ?? []
        let process = Int.random(in: 1...4, using: &random)
        if let fault, number >= fault, !hasFault, list.count > old[key]?.count ?? 0 {
          hasFault = true
          if seed % 4 == 1 {
            builder.add(process, .read, .committed, .readList(key, old[key] ?? []))
          } else {
            value += 1
            builder.add(process, .serial, .committed, .readList(key, list), .append(key, value))
          }
        } else if Bool.random(using: &random) {
          builder.add(process, .read, .committed, .readList(key, list), .readList((key + 1) % 3, lists[(key + 1) % 3] ?? []))
        } else {
          value += 1
          builder.add(process, .serial, .committed, .readList(key, list), .append(key, value))
          lists[key] = list + [value]
        }
      }
      let history = builder.history(.readList(0, lists[0] ?? []), .readList(1, lists[1] ?? []), .readList(2, lists[2] ?? []))
      XCTAssertEqual(history.anomalies.isEmpty, !hasFault, "\(seed): \(history.anomalies)")
      XCTAssertEqual(hasFault, fault != nil)
    }
  }

  func testLogsAreReadAsTheyWereWritten() throws {
    let folder = try TemporaryFolder("OperationHistoryTests")
    let log = OperationLog(folder.file("log"))
    let steps: [Step] = [.readList(1, []), .readList(2, [3, 40]), .append(2, 500), .readRegister(7, 0), .write(7, 6)]
    log.begin(.snapshot, at: 17, steps)
    log.end(.aborted)
    log.begin(.serial, at: 18, [])
    log.end(.committed)
    log.begin(.read, at: 19, steps)
    let read = try OperationLog.operations(at: folder.file("log"), process: 4)
    XCTAssertEqual(read.map(\.outcome), [.aborted, .committed, .unknown])
    XCTAssertEqual(read.map(\.kind), [.snapshot, .serial, .read])
    XCTAssertEqual(read.map(\.begin), [17, 18, 19])
    XCTAssertEqual(read.map(\.steps), [steps, [], steps])
    XCTAssertGreaterThan(read[0].end, 17)
    // An incomplete line at the end of a killed process.
    let file = try FileHandle(forWritingTo: folder.file("log"))
    try file.seekToEnd()
    try file.write(contentsOf: Data("c 2".utf8))
    XCTAssertEqual(try OperationLog.operations(at: folder.file("log"), process: 4), read)
    try file.write(contentsOf: Data("0\nS x\n".utf8))
    XCTAssertThrowsError(try OperationLog.operations(at: folder.file("log"), process: 4)) {
      XCTAssertEqual($0 as? OperationLog.LogError, .invalidLine("S x"))
    }
    log.fail("no\nspace")
    try Data("F no space\n".utf8).write(to: folder.file("log"))
    XCTAssertThrowsError(try OperationLog.operations(at: folder.file("log"), process: 4)) {
      XCTAssertEqual($0 as? OperationLog.LogError, .failed("no space"))
    }
  }
}
