// StageProgress: how much an application's part of a stage has done, by what it walks through, counts itself, or reads and saves.
import ObjectModel
import ObjectStore

/// How much of an application's part of a stage is done, as a fraction.
///
/// What a handler will do nobody knows. It is expected to go once through the objects of the entities that differ between the two models, or through all
/// where none does, and to save what it has read. What it does beyond that has a share of what is left.
final class StageProgress {
  /// One thing after the other that a stage has the application do.
  enum Part {
    case mapping
    case handler
    case finish

    /// What the part weighs beside others: a mapping model makes the objects, then their relationships.
    fileprivate var weight: Double {
      switch self {
      case .mapping: 3
      case .handler: 2
      case .finish: 1
      }
    }
  }

  /// How much of what is left a count takes at most: nobody knows that it is the last.
  private static let mostOfRest = 0.9

  private let session: any StoreMigrationSession
  private let label: String
  private let parts: [Part]
  /// The older objects that are expected to be visited, by entity, without those of subentities.
  private let expected: [Int: Int]
  /// Those of them that no walk has visited yet.
  private var unvisited: [Int: Int]
  /// Rows that were read or saved outside of walks.
  private var touched = 0
  /// What is done of all, and where the part under way ends.
  private var value = 0.0
  private var end = 1.0
  /// What a walk or the handler itself counts just now.
  private var count: (start: Double, end: Double, done: Int, total: Int)?
  /// Whether objects are visited, or made by a mapping model: what they read and save is not counted once more.
  private var isWalking = false

  /// - Parameters:
  ///   - parts: What the stage has the application do, in order.
  ///   - expected: The numbers of older objects that it is expected to go through, by entity; empty where nobody follows.
  init(_ session: any StoreMigrationSession, label: String, parts: [Part], expected: [Int: Int]) {
    self.session = session
    self.label = label
    self.parts = parts
    self.expected = expected
    unvisited = expected
  }

  /// Begins a part; the one before has come to its end.
  func begin(_ part: Part) {
    let whole = parts.reduce(0) { $0 + $1.weight }
    let before = parts.prefix { $0 != part }.reduce(0) { $0 + $1.weight }
    value = max(value, before / whole)
    end = (before + part.weight) / whole
    (unvisited, touched, count) = (expected, 0, nil)
  }

  // MARK: Walks

  /// Goes through objects of an older entity, which are told as they are done.
  ///
  /// - Parameters:
  ///   - entity: The entity; those below it are visited too.
  ///   - total: How many objects there are.
  ///   - phase: What is being done.
  ///   - body: Is given what tells of objects that are done.
  func walk(_ entity: CompiledEntity, of total: Int, phase: String, _ body: (_ advance: (Int) -> Void) throws -> Void) rethrows {
    // A walk within another is a part of that one.
    let isOuter = !isWalking
    if isOuter {
      isWalking = true
      for number in entity.subtree { unvisited[number] = nil }
      count = share(of: total, weight: 2 * Double(total), rest: rest)
    }
    defer { if isOuter { (isWalking, count) = (false, nil) } }
    var done = 0
    tell(phase, done, total)
    try body { number in
      done += number
      if isOuter { reach(done) }
      tell(phase, done, total)
    }
  }

  /// The rows that are still expected to be read or saved.
  private var rest: Double { max(0, 2 * Double(unvisited.values.reduce(0, +)) - Double(touched)) }

  private func share(of total: Int, weight: Double, rest: Double) -> (start: Double, end: Double, done: Int, total: Int) {
    let part = weight > 0 ? min(weight / (weight + rest), Self.mostOfRest) : 0
    return (value, value + (end - value) * part, 0, total)
  }

  private func reach(_ done: Int) {
    guard var count, count.total > 0 else { return }
    count.done = done
    self.count = count
    value = max(value, count.start + (count.end - count.start) * min(max(Double(done) / Double(count.total), 0), 1))
  }

  // MARK: What is told, read and made otherwise

  /// Takes over what a handler counts itself.
  func report(_ phase: String?, _ completed: Int, of total: Int) {
    if !isWalking, total > 0 {
      if count.map({ $0.total != total || completed < $0.done }) ?? true { count = share(of: total, weight: 1, rest: 0) }
      reach(completed)
      if completed >= total { count = nil }
    }
    tell(phase ?? label, completed, total)
  }

  /// Takes over that rows were read or saved, unless what reads and saves them tells it better.
  func touch(_ rows: Int) {
    guard rows > 0, !isWalking, count == nil else { return }
    let whole = 2 * expected.values.reduce(0, +)
    value += (end - value) * Double(rows) / max(rest, Double(whole) / 2, 2 * Double(rows))
    touched += rows
    tell(label, touched, max(whole, touched))
  }

  /// Makes objects by a mapping model, which knows its whole.
  func map(_ body: () throws -> Void) rethrows {
    isWalking = true
    defer { isWalking = false }
    count = (value, end, 0, 0)
    try body()
    count = nil
  }

  /// Tells how far a mapping model is.
  ///
  /// - Parameter fraction: How much of its work is done.
  func mapped(_ phase: String, _ completed: Int, of total: Int, fraction: Double) {
    if let count { value = max(value, count.start + (count.end - count.start) * fraction) }
    tell("\(label): \(phase)", completed, total)
  }

  private func tell(_ phase: String, _ completed: Int, _ total: Int) {
    session.report(phase, completedUnitCount: completed, totalUnitCount: total, fractionCompleted: value)
  }
}
