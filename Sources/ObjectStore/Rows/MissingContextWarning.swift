import Logging
import Synchronization

/// Logs a warning, once a process, when a property of a fault is read after its context was deallocated. Such a property reads as empty,
/// and its accessor cannot throw.
package enum MissingContextWarning {
  private static let count = Atomic(0)

  package static var readCount: Int { count.load(ordering: .relaxed) }

  /// Counts a read, and logs a warning for the first.
  package static func log(entityName: String) {
    guard count.add(1, ordering: .relaxed).oldValue == 0 else { return }
    Logger(label: "CipherData").warning(
      "A property of “\(entityName)” was read after the object's context was deallocated, and has no value. Retain the context as long as its objects. (Logged once.)"
    )
  }
}
