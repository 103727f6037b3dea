import ObjectModel
import ObjectStore

/// The progress of the application's part of a stage, as a fraction.
///
/// The amount of a handler's work is unknown. The estimate assumes that it visits and saves once all objects of the entities that differ
/// between the models, or all objects if no entity differs. Any work beyond that takes a share of the remaining fraction.
final class StageProgress {
  /// A part of a stage that runs application code.
  enum Part {
    case mapping
    case handler
    case finish

    /// The relative weight of the part. A mapping model creates the objects and then their relationships.
    fileprivate var weight: Double {
      switch self {
      case .mapping: 3
      case .handler: 2
      case .finish: 1
      }
    }
  }

  /// The maximum share of the remaining fraction that one count takes, since more may follow.
  private static let maximumShare = 0.9

  private let session: any StoreMigrationSession
  private let label: String
  private let parts: [Part]
  /// The numbers of source objects that are expected to be visited, by entity, without subentities.
  private let expected: [Int: Int]
  /// The expected objects that no walk has visited yet.
  private var unvisited: [Int: Int]
  /// The number of rows read or saved outside of walks.
  private var touched = 0
  /// The completed fraction of the whole, and the fraction at the end of the current part.
  private var value = 0.0
  private var end = 1.0
  /// The count of the current walk, or of the handler's own reports.
  private var count: (start: Double, end: Double, done: Int, total: Int)?
  /// Whether a walk or a mapping model is running, whose reads and saves are not counted separately.
  private var isWalking = false

  /// Creates the progress of a stage.
  ///
  /// - Parameters:
  ///   - parts: The parts of the stage that run application code, in order.
  ///   - expected: The numbers of source objects that are expected to be visited, by entity; empty if progress is not observed.
  init(_ session: any StoreMigrationSession, label: String, parts: [Part], expected: [Int: Int]) {
    self.session = session
    self.label = label
    self.parts = parts
    self.expected = expected
    unvisited = expected
  }

  /// Begins a part and completes the previous one.
  func begin(_ part: Part) {
    let whole = parts.reduce(0) { $0 + $1.weight }
    let before = parts.prefix { $0 != part }.reduce(0) { $0 + $1.weight }
    value = max(value, before / whole)
    end = (before + part.weight) / whole
    (unvisited, touched, count) = (expected, 0, nil)
  }

  // MARK: Walks

  /// Reports a walk over the objects of a source entity.
  ///
  /// - Parameters:
  ///   - entity: The entity, including its subentities.
  ///   - total: The number of objects.
  ///   - phase: A description of the walk.
  ///   - body: Performs the walk. Calls `advance` with numbers of completed objects.
  func walk(_ entity: CompiledEntity, of total: Int, phase: String, _ body: (_ advance: (Int) -> Void) throws -> Void) rethrows {
    // A nested walk is part of the outer one.
    let isOuter = !isWalking
    if isOuter {
      isWalking = true
      for number in entity.subtree { unvisited[number] = nil }
      count = share(of: total, weight: 2 * Double(total), rest: rest)
    }
    defer { if isOuter { (isWalking, count) = (false, nil) } }
    var done = 0
    sendProgress(phase, done, total)
    try body { number in
      done += number
      if isOuter { reach(done) }
      sendProgress(phase, done, total)
    }
  }

  /// The number of rows that are still expected to be read or saved.
  private var rest: Double { max(0, 2 * Double(unvisited.values.reduce(0, +)) - Double(touched)) }

  private func share(of total: Int, weight: Double, rest: Double) -> (start: Double, end: Double, done: Int, total: Int) {
    let part = weight > 0 ? min(weight / (weight + rest), Self.maximumShare) : 0
    return (value, value + (end - value) * part, 0, total)
  }

  private func reach(_ done: Int) {
    guard var count, count.total > 0 else { return }
    count.done = done
    self.count = count
    value = max(value, count.start + (count.end - count.start) * min(max(Double(done) / Double(count.total), 0), 1))
  }

  // MARK: Other sources of progress

  /// Adopts the handler's own count.
  func report(_ phase: String?, _ completed: Int, of total: Int) {
    if !isWalking, total > 0 {
      if count.map({ $0.total != total || completed < $0.done }) ?? true { count = share(of: total, weight: 1, rest: 0) }
      reach(completed)
      if completed >= total { count = nil }
    }
    sendProgress(phase ?? label, completed, total)
  }

  /// Counts rows that were read or saved, unless a walk, a count or a mapping model reports more precisely.
  func touch(_ rows: Int) {
    guard rows > 0, !isWalking, count == nil else { return }
    let whole = 2 * expected.values.reduce(0, +)
    value += (end - value) * Double(rows) / max(rest, Double(whole) / 2, 2 * Double(rows))
    touched += rows
    sendProgress(label, touched, max(whole, touched))
  }

  /// Runs a mapping model, which reports its own total.
  func map(_ body: () throws -> Void) rethrows {
    isWalking = true
    defer { isWalking = false }
    count = (value, end, 0, 0)
    try body()
    count = nil
  }

  /// Reports the progress of a mapping model.
  ///
  /// - Parameter fraction: The completed fraction of the mapping model.
  func mapped(_ phase: String, _ completed: Int, of total: Int, fraction: Double) {
    if let count { value = max(value, count.start + (count.end - count.start) * fraction) }
    sendProgress("\(label): \(phase)", completed, total)
  }

  private func sendProgress(_ phase: String, _ completed: Int, _ total: Int) {
    session.report(phase, completedUnitCount: completed, totalUnitCount: total, fractionCompleted: value)
  }
}
