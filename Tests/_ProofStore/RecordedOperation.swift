package import Foundation

/// A transaction of a process, as the process has recorded it.
package struct RecordedOperation: Hashable, Sendable {
  /// What is guaranteed about its reads.
  package enum Kind: UInt8, Sendable {
    /// All that it read was the same when it was committed.
    case serial = 0x53  // S
    /// It read one state of the store, and what it has written was as in that state when it was committed.
    case snapshot = 0x50  // P
    /// It read one state of the store, and wrote nothing.
    case read = 0x52  // R
  }

  package enum Outcome: UInt8, Sendable {
    case committed = 0x63  // c
    /// It had no effect.
    case aborted = 0x61  // a
    /// The process has ended before.
    case unknown = 0x75  // u
  }

  /// A read or a write of an object, which is a list of numbers or a register with one number. All numbers are written once.
  package enum Step: Hashable, Sendable {
    case readList(Int32, [Int32])
    case append(Int32, Int32)
    case readRegister(Int32, Int32)
    case write(Int32, Int32)
  }

  package var process: Int
  package var kind: Kind
  package var outcome: Outcome
  /// The times in nanoseconds of the system's clock, which all processes share.
  package var begin: UInt64
  package var end: UInt64
  package var steps: [Step]

  package init(_ process: Int, _ kind: Kind, _ outcome: Outcome = .committed, from begin: UInt64, to end: UInt64, _ steps: [Step]) {
    (self.process, self.kind, self.outcome, self.begin, self.end, self.steps) = (process, kind, outcome, begin, end, steps)
  }

  package static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }
}

/// The file in which a process records its operations: a line with the steps before an operation is committed, and one with its outcome after.
/// The process is killed, not the system: a line that is written remains.
package final class OperationLog {
  private let descriptor: Int32

  package init(_ url: URL) { descriptor = open(url.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) }
  deinit { close(descriptor) }

  private func put(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { _ = write(descriptor, $0.baseAddress, $0.count) }
  }

  package func begin(_ kind: RecordedOperation.Kind, at time: UInt64, _ steps: [RecordedOperation.Step]) {
    var line = "\(Character(UnicodeScalar(kind.rawValue))) \(time)"
    for step in steps {
      switch step {
      case .readList(let key, let values): line += " L\(key):" + values.map(String.init).joined(separator: ",")
      case .append(let key, let value): line += " A\(key):\(value)"
      case .readRegister(let key, let value): line += " V\(key):\(value)"
      case .write(let key, let value): line += " W\(key):\(value)"
      }
    }
    put(line)
  }

  package func end(_ outcome: RecordedOperation.Outcome) {
    put("\(Character(UnicodeScalar(outcome.rawValue))) \(RecordedOperation.now)")
  }

  /// Records an unexpected error.
  package func fail(_ problem: String) { put("F \(problem.replacing("\n", with: " "))") }

  // MARK: Reading

  package enum LogError: Error, Hashable {
    /// The process has recorded an unexpected error.
    case failed(String)
    case invalidLine(String)
  }

  /// Returns the operations that a process has recorded, in their order. The last line may be incomplete.
  package static func operations(at url: URL, process: Int) throws -> [RecordedOperation] {
    guard let data = try? Data(contentsOf: url) else { return [] }
    var operations: [RecordedOperation] = []
    var isOpen = false
    for line in [UInt8](data).split(separator: 0x0A, omittingEmptySubsequences: false).dropLast() {
      func invalid() -> LogError { .invalidLine(String(decoding: line, as: UTF8.self)) }
      if line.first == 0x46 { throw LogError.failed(String(decoding: line.dropFirst(2), as: UTF8.self)) }
      var reader = LineReader(bytes: line)
      guard let word = reader.byte(), reader.byte() == 0x20, let time = reader.number() else { throw invalid() }
      if let kind = RecordedOperation.Kind(rawValue: word), !isOpen {
        guard let steps = reader.steps() else { throw invalid() }
        operations.append(RecordedOperation(process, kind, .unknown, from: time, to: .max, steps))
        isOpen = true
      } else if let outcome = RecordedOperation.Outcome(rawValue: word), isOpen {
        operations[operations.count - 1].outcome = outcome
        operations[operations.count - 1].end = time
        isOpen = false
      } else {
        throw invalid()
      }
    }
    return operations
  }

  private struct LineReader {
    var bytes: ArraySlice<UInt8>

    mutating func byte() -> UInt8? { bytes.popFirst() }

    mutating func number() -> UInt64? {
      var value: UInt64?
      while let byte = bytes.first, (0x30...0x39).contains(byte) {
        value = (value ?? 0) * 10 + UInt64(byte - 0x30)
        bytes.removeFirst()
      }
      return value
    }

    private mutating func value() -> Int32? { number().flatMap { Int32(exactly: $0) } }

    mutating func steps() -> [RecordedOperation.Step]? {
      var steps: [RecordedOperation.Step] = []
      while let space = byte() {
        guard space == 0x20, let word = byte(), let key = value(), byte() == 0x3A else { return nil }
        if word == 0x4C {
          var values: [Int32] = []
          while let next = value() {
            values.append(next)
            if bytes.first == 0x2C { bytes.removeFirst() }
          }
          steps.append(.readList(key, values))
          continue
        }
        guard let value = value() else { return nil }
        switch word {
        case 0x41: steps.append(.append(key, value))
        case 0x56: steps.append(.readRegister(key, value))
        case 0x57: steps.append(.write(key, value))
        default: return nil
        }
      }
      return steps
    }
  }
}

/// What a process does with a store that others use at the same time.
package struct OperationOrder: Codable, Sendable {
  package enum Task: Codable, Sendable {
    /// Creates the store with lists and registers.
    case create
    /// Performs random operations, and records them.
    case operate
    /// Records one read of all objects.
    case read
  }

  package var folder: URL
  /// The number of the process, which no other process of the store has.
  package var process: Int
  package var seed: UInt64
  /// The number of operations of each process.
  package var operations: Int
  package var hasHistory: Bool
  package var task: Task

  package init(folder: URL, process: Int, seed: UInt64, operations: Int, hasHistory: Bool, task: Task) {
    (self.folder, self.process, self.seed) = (folder, process, seed)
    (self.operations, self.hasHistory, self.task) = (operations, hasHistory, task)
  }

  package var store: URL { folder.appendingPathComponent("shared.store") }
  package var log: URL { Self.log(of: process, in: folder) }
  package static func log(of process: Int, in folder: URL) -> URL { folder.appendingPathComponent("\(process).log") }

  /// The number of lists, and of registers, that the processes use at a time.
  private static let window = 4
  /// The number of operations after which a process uses the next ones, so that no list becomes long.
  private static let operationsInWindow = 40

  /// The keys of the lists and of the registers.
  package var keys: Range<Int> { 0..<(operations / Self.operationsInWindow + 1) * Self.window }

  /// The keys of those that an operation uses.
  package func keys(for operation: Int) -> Range<Int> {
    let first = operation / Self.operationsInWindow * Self.window
    return first..<first + Self.window
  }
}
