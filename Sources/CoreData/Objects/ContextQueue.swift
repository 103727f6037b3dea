// ContextQueue: the queue of a context, and whether code runs on it.
import Dispatch
import Foundation

/// The queue of a context.
final class ContextQueue: Sendable {
  let queue: DispatchQueue
  private let isMain: Bool
  private static let here = DispatchSpecificKey<ObjectIdentifier>()

  init(isMain: Bool) {
    self.isMain = isMain
    queue = isMain ? .main : DispatchQueue(label: "CipherData.NSManagedObjectContext")
    if !isMain { queue.setSpecific(key: Self.here, value: ObjectIdentifier(self)) }
  }

  /// Whether code runs on the queue.
  var isHere: Bool { isMain ? Thread.isMainThread : DispatchQueue.getSpecific(key: Self.here) == ObjectIdentifier(self) }

  /// Does work on the queue and waits for it.
  func wait<Result>(_ work: () throws -> Result) rethrows -> Result { try queue.sync(execute: work) }
}
