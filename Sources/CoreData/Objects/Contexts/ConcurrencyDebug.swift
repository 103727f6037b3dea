// ConcurrencyDebug: contexts and objects that are used where they do not belong.
import Foundation
import Synchronization

/// Whether is looked for contexts and objects that are used off their contexts' queues.
package enum ConcurrencyDebug {
  private static let state = Atomic<Bool>(said)

  /// What was said when the program was started: by the argument `-com.apple.CoreData.ConcurrencyDebug 1`, or in the user's defaults.
  private static var said: Bool {
    let name = "com.apple.CoreData.ConcurrencyDebug"
    let arguments = ProcessInfo.processInfo.arguments
    if let place = arguments.firstIndex(of: "-\(name)"), place + 1 < arguments.count { return (Int(arguments[place + 1]) ?? 0) > 0 }
    return UserDefaults.standard.integer(forKey: name) > 0
  }

  /// Whether is looked for them.
  package static var isOn: Bool {
    get { state.load(ordering: .relaxed) }
    set { state.store(newValue, ordering: .relaxed) }
  }
}

extension NSManagedObjectContext {
  /// Keeps, and prints, that the context was used off its queue, where that is looked for.
  final func checkQueue(_ use: StaticString) {
    guard ConcurrencyDebug.isOn, !isHere, !isLent else { return }
    let error = QueueError(use: "\(use)", context: concurrencyType == .mainQueueConcurrencyType ? "main queue" : "private queue")
    // The context's own errors are used on its queue alone.
    guard
      misuse.withLock({ known in
        defer { known = known ?? error }
        return known == nil
      })
    else { return }
    FileHandle.standardError.write(Data("CoreData: \(error.errorDescription ?? "")\n".utf8))
  }

  /// Throws that the context was used off its queue, once.
  final func throwMisuse() throws {
    if let error = misuse.withLock({ $0.take() }) { throw error }
  }

  /// Whether an object is the context's; of one that is another context's the context is told.
  final func owns(_ object: NSManagedObject, _ use: StaticString) -> Bool {
    if let other = object.managedObjectContext, other !== self {
      context.recordError(OtherContextError(use: "\(use)", entity: object.entity.name ?? ""))
      return false
    }
    return true
  }
}

extension NSManagedObject {
  /// Keeps that the object was used off its context's queue, where that is looked for.
  final func checkQueue(_ use: StaticString) {
    if ConcurrencyDebug.isOn { managedObjectContext?.checkQueue(use) }
  }
}

/// A context was used off its queue.
struct QueueError: LocalizedError {
  let use: String
  let context: String

  var errorDescription: String? {
    "\(use) of a context with a \(context), or of one of its objects, was used off that queue; do so in a block of the context's perform or performAndWait, and hand IDs, not objects, to other contexts"
  }
}

/// An object of another context was given to a context.
struct OtherContextError: LocalizedError {
  let use: String
  let entity: String

  var errorDescription: String? {
    "\(use) was given an object of “\(entity)” that is another context's; look it up in this one by its ID, with object(with:)"
  }
}
