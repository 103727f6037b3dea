import _ProofStore

/// What is wrong with a history of operations.
struct HistoryAnomaly: Hashable, CustomStringConvertible {
  enum Kind: String {
    /// A value that no operation has written.
    case unwrittenRead = "unwritten read"
    /// A value that only an operation without effect has written.
    case abortedRead = "aborted read"
    /// A value that its operation has replaced, or a part of what an operation has appended.
    case intermediateRead = "intermediate read"
    /// An operation does not see what it has written itself.
    case ownWriteMissing = "own write missing"
    /// A value that is in a list twice.
    case duplicate
    /// Two reads of a list that cannot be states of one list.
    case contradictoryReads = "contradictory reads"
    /// Two operations have replaced the same state, or a value that was written is missing at the end.
    case lostUpdate = "lost update"
    /// Operations that cannot be in any order: each must be before the next one, and the last one before the first.
    case cycle
  }

  var kind: Kind
  var text: String

  init(_ kind: Kind, _ text: String) { (self.kind, self.text) = (kind, text) }

  var description: String { "\(kind.rawValue): \(text)" }
}

/// Checks the operations of several processes on one store.
///
/// Each list and each register has a sequence of states, which follows from the reads: every write is preceded by a read of what it replaces.
/// From the states follows which operation must be before which. The operations of a process are in their order, and one that has begun
/// after another one had ended is after it.
///
/// A serial operation is one point in the order. A snapshot has two, its reads and then its writes: between them, others may write what it has only
/// read, and nothing that it writes.
struct OperationHistory {
  private let operations: [RecordedOperation]
  /// The time for which a read may miss what others have committed, in nanoseconds.
  private let staleness: UInt64
  private(set) var anomalies: [HistoryAnomaly] = []
  private var states: [Object: ObjectStates] = [:]

  struct Object: Hashable, CustomStringConvertible {
    var isList: Bool
    var key: Int32
    var description: String { (isList ? "list " : "register ") + "\(key)" }
  }

  /// The states of an object: number 0 is that without writes, and each other one is a value that was written or appended.
  private struct ObjectStates {
    var numbers: [Int32: Int] = [:]
    /// The writer of each state, by its number; nil for the first one.
    var writers: [Int?] = [nil]
    /// The operations that have read each state.
    var readers: [[Int]] = [[]]
  }

  /// - Parameters:
  ///   - operations: The operations; those of a process in their order.
  ///   - last: A read of all objects when all operations had ended.
  init(_ operations: [RecordedOperation], last: RecordedOperation, staleness: UInt64 = 50_000_000) {
    self.operations = operations + [last]
    self.staleness = staleness
    check()
  }

  // MARK: Writes

  private struct Write: Hashable {
    var object: Object
    var value: Int32
  }

  private mutating func check() {
    var writers: [Write: Int] = [:]
    for (number, operation) in operations.enumerated() {
      for case let write? in operation.steps.map(Self.write) { writers[write] = number }
    }
    let known = operations.indices.filter { operations[$0].outcome == .committed }
    let effective = Set(known).union(observed(writers))
    for number in operations.indices where operations[number].outcome != .unknown { checkReads(of: number, writers) }
    orderStates(effective)
    if anomalies.isEmpty { checkOrder(effective) }
  }

  private static func write(_ step: RecordedOperation.Step) -> Write? {
    switch step {
    case .append(let key, let value): Write(object: Object(isList: true, key: key), value: value)
    case .write(let key, let value): Write(object: Object(isList: false, key: key), value: value)
    case .readList, .readRegister: nil
    }
  }

  private static func read(_ step: RecordedOperation.Step) -> (object: Object, values: [Int32])? {
    switch step {
    case .readList(let key, let values): (Object(isList: true, key: key), values)
    case .readRegister(let key, let value): (Object(isList: false, key: key), value == 0 ? [] : [value])
    case .append, .write: nil
    }
  }

  /// Returns the operations without a known outcome whose writes were read by others: they were committed.
  private func observed(_ writers: [Write: Int]) -> Set<Int> {
    var observed: Set<Int> = []
    for (number, operation) in operations.enumerated() {
      for case let (object, values)? in operation.steps.map(Self.read) {
        for value in values {
          if let writer = writers[Write(object: object, value: value)], writer != number, operations[writer].outcome == .unknown {
            observed.insert(writer)
          }
        }
      }
    }
    return observed
  }

  // MARK: Reads

  /// Checks each read of an operation alone. Reads of operations without effect are checked too.
  private mutating func checkReads(of number: Int, _ writers: [Write: Int]) {
    var own: [Object: [Int32]] = [:]
    for step in operations[number].steps {
      if let write = Self.write(step) { own[write.object, default: []].append(write.value) }
      guard let (object, read) = Self.read(step) else { continue }
      var values = read[...]
      if let mine = own[object] {
        // Its own values are the last ones.
        let count = object.isList ? mine.count : 1
        guard values.suffix(count).elementsEqual(mine.suffix(count)) else {
          return report(.ownWriteMissing, "\(name(number)) has written \(mine) to \(object) and reads \(Array(values.suffix(8)))")
        }
        values.removeLast(count)
      }
      if Set(values).count != values.count { report(.duplicate, "\(name(number)) reads \(Array(values)) in \(object)") }
      for value in values {
        guard let writer = writers[Write(object: object, value: value)] else {
          report(.unwrittenRead, "\(name(number)) reads \(value) in \(object)")
          continue
        }
        if operations[writer].outcome == .aborted {
          report(.abortedRead, "\(name(number)) reads \(value) in \(object), which \(name(writer)) has not committed")
        }
      }
      if let value = values.last, let writer = writers[Write(object: object, value: value)], writer != number,
        operations[writer].steps.last(where: { Self.write($0)?.object == object }).flatMap(Self.write)?.value != value
      {
        report(.intermediateRead, "\(name(number)) reads \(object) up to \(value), after which \(name(writer)) has written more")
      }
    }
  }

  // MARK: States

  /// Determines the states of all objects, and which operations read and replaced them.
  private mutating func orderStates(_ effective: Set<Int>) {
    orderLists(effective)
    orderRegisters(effective)
    for number in operations.indices where operations[number].outcome != .aborted && effective.contains(number) { record(number) }
  }

  /// The states of a list are those of its longest read, since every other one must be its beginning.
  private mutating func orderLists(_ effective: Set<Int>) {
    var longest: [Object: (values: [Int32], reader: Int)] = [:]
    var reads: [(object: Object, values: [Int32], reader: Int)] = []
    for number in operations.indices where operations[number].outcome != .unknown {
      var written: Set<Object> = []
      for step in operations[number].steps {
        if let write = Self.write(step) { written.insert(write.object) }
        // What follows its own writes is in no list if it was not committed.
        guard let (object, values) = Self.read(step), object.isList, !written.contains(object) else { continue }
        reads.append((object, values, number))
        if values.count >= longest[object]?.values.count ?? 0 { longest[object] = (values, number) }
      }
    }
    for (object, values, reader) in reads {
      guard let most = longest[object], !most.values.starts(with: values) else { continue }
      report(.contradictoryReads, "\(object) is \(values) for \(name(reader)) and \(most.values) for \(name(most.reader))")
    }
    for (object, read) in longest {
      var states = ObjectStates()
      for value in read.values { add(value, to: &states) }
      self.states[object] = states
    }
    for number in effective {
      for case let write? in operations[number].steps.map(Self.write) where write.object.isList {
        if let state = states[write.object]?.numbers[write.value] {
          states[write.object]?.writers[state] = number
        } else {
          report(.lostUpdate, "\(name(number)) has appended \(write.value) to \(write.object), which does not contain it")
        }
      }
    }
  }

  private func add(_ value: Int32, to states: inout ObjectStates) {
    states.numbers[value] = states.writers.count
    states.writers.append(nil)
    states.readers.append([])
  }

  /// A register's next state is that of the operation which has read the former one and replaced it.
  private mutating func orderRegisters(_ effective: Set<Int>) {
    var next: [Object: [Int32: (value: Int32, writer: Int)]] = [:]
    for number in effective.sorted() {
      for (object, (former, values)) in Self.replacements(operations[number]) {
        guard let former, let value = values.last else {
          report(.unwrittenRead, "\(name(number)) has replaced \(object) without reading it")
          continue
        }
        if let other = next[object]?[former] {
          report(.lostUpdate, "\(name(other.writer)) and \(name(number)) have both replaced \(former) in \(object)")
        }
        next[object, default: [:]][former] = (value, number)
      }
    }
    var last: [Object: Int32] = [:]
    for case let (object, values)? in operations[operations.count - 1].steps.map(Self.read) where !object.isList {
      last[object] = values.last ?? 0
    }
    for object in Set(next.keys).union(last.keys) {
      var states = ObjectStates()
      states.numbers[0] = 0
      var current: Int32 = 0
      while let (value, writer) = next[object]?.removeValue(forKey: current) {
        add(value, to: &states)
        states.writers[states.writers.count - 1] = writer
        current = value
      }
      self.states[object] = states
      if let last = last[object], last != current {
        report(.lostUpdate, "\(object) is \(last) at the end, and \(current) was the last value that was written")
      }
      for (former, lost) in next[object] ?? [:] {
        report(.lostUpdate, "\(name(lost.writer)) has replaced \(former) in \(object), which is not among its values")
      }
    }
  }

  /// Returns the registers that an operation replaces, with the values that it has read before, and those that it has written.
  private static func replacements(_ operation: RecordedOperation) -> [Object: (former: Int32?, written: [Int32])] {
    var (replacements, reads): ([Object: (former: Int32?, written: [Int32])], [Object: Int32]) = ([:], [:])
    for step in operation.steps {
      if let (object, values) = read(step), !object.isList, reads[object] == nil { reads[object] = values.last ?? 0 }
      if let write = write(step), !write.object.isList {
        replacements[write.object, default: (reads[write.object], [])].written.append(write.value)
      }
    }
    return replacements
  }

  /// Records the states that an operation has read before it wrote.
  private mutating func record(_ number: Int) {
    var seen: Set<Object> = []
    for step in operations[number].steps {
      if let write = Self.write(step) { seen.insert(write.object) }
      guard let (object, values) = Self.read(step) else { continue }
      let state = values.last.map { states[object]?.numbers[$0] } ?? 0
      guard let state, seen.insert(object).inserted else { continue }
      states[object]?.readers[state].append(number)
    }
  }

  // MARK: Order

  /// Checks that the operations have an order.
  private mutating func checkOrder(_ effective: Set<Int>) {
    var graph = OperationGraph(operations.map { $0.kind == .snapshot })
    for (object, states) in states {
      for state in states.writers.indices {
        if let writer = states.writers[state] {
          for reader in states.readers[state] where reader != writer { graph.add(.commit(writer), .reads(reader), .sees(object)) }
        }
        guard let next = states.writers.indices.dropFirst(state + 1).first.flatMap({ states.writers[$0] }) else { continue }
        if let writer = states.writers[state], writer != next { graph.add(.commit(writer), .reads(next), .isReplaced(object)) }
        for reader in states.readers[state] where reader != next { graph.add(.reads(reader), .commit(next), .misses(object)) }
      }
    }
    var former: [Int: Int] = [:]
    for number in operations.indices where effective.contains(number) {
      guard let before = former.updateValue(number, forKey: operations[number].process) else { continue }
      graph.add(.commit(before), .reads(number), .sameProcess)
    }
    addTimes(effective, to: &graph)
    if let cycle = graph.cycle() {
      report(.cycle, cycle.map { "\(name($0.operation)) \($0.relation)" }.joined(separator: ", then "))
    }
  }

  /// An operation that begins after another one has ended is after it.
  private func addTimes(_ effective: Set<Int>, to graph: inout OperationGraph) {
    var events: [(time: UInt64, isEnd: Bool, operation: Int)] = []
    for number in effective {
      let operation = operations[number]
      let margin = operation.kind == .serial ? 0 : staleness
      events.append((operation.begin - min(operation.begin, margin), false, number))
      if operation.outcome == .committed { events.append((operation.end, true, number)) }
    }
    // At the same time, nothing is known.
    events.sort { ($0.time, $0.isEnd ? 1 : 0) < ($1.time, $1.isEnd ? 1 : 0) }
    for event in events { event.isEnd ? graph.addEnd(of: event.operation) : graph.addBegin(of: event.operation) }
  }

  private mutating func report(_ kind: HistoryAnomaly.Kind, _ text: String) { anomalies.append(HistoryAnomaly(kind, text)) }

  private func name(_ number: Int) -> String {
    let operation = operations[number]
    let index = operations[..<number].count { $0.process == operation.process }
    return "operation \(index) of process \(operation.process)"
  }
}
