// LostContextNotice: what is told once, where a property is read that nothing can read any more, and that cannot throw.
import Logging
import Synchronization

/// Tells, once a process, that objects outlive their context: their properties read as empty, and nobody else could say why.
package enum LostContextNotice {
  private static let count = Atomic(0)

  /// How often such a property was read.
  package static var readCount: Int { count.load(ordering: .relaxed) }

  /// A property of a fault was read whose context is gone.
  package static func tell(entityName: String) {
    guard count.add(1, ordering: .relaxed).oldValue == 0 else { return }
    Logger(label: "CipherData").warning(
      "A property of “\(entityName)” was read after the object's context was gone, and has no value. Keep the context as long as its objects. (Told once.)"
    )
  }
}
