// NSQueryGenerationToken: states of stores that hold still, as objects.
public import Foundation
import ObjectContext
package import ObjectStore

/// A state of stores that holds still as long as somebody reads it.
public final class NSQueryGenerationToken: NSObject, NSCopying, Sendable {
  package let token: QueryGenerationToken

  package init(_ token: QueryGenerationToken) { self.token = token }

  /// The state that is the newest one when it is read next.
  public class var current: NSQueryGenerationToken { NSQueryGenerationToken(.current) }

  /// The token: it does not change.
  public func copy(with zone: NSZone? = nil) -> Any { self }
  /// Tokens are equal where their states are.
  public override func isEqual(_ object: Any?) -> Bool { (object as? NSQueryGenerationToken)?.token == token }
  /// The hash of the states.
  public override var hash: Int { token.hashValue }
}

extension NSManagedObjectContext {
  /// The state that the context is pinned to; nil where it reads the newest one.
  public var queryGenerationToken: NSQueryGenerationToken? { context.queryGenerationToken.map(NSQueryGenerationToken.init) }

  /// Pins the context to a state of its stores, or to the newest one where it is nil.
  ///
  /// - Throws: `NSError`.
  public func setQueryGenerationFrom(_ generation: NSQueryGenerationToken?) throws {
    try CoreDataError.translating { try context.setQueryGeneration(from: generation?.token) }
  }
}

extension NSPersistentStoreCoordinator {
  /// The place behind all that was written to stores; nil where none keeps a history.
  ///
  /// - Parameter stores: The stores; all where it is nil.
  public func currentPersistentHistoryToken(fromStores stores: [Any]?) -> NSPersistentHistoryToken? {
    let asked = stores.map { $0.compactMap { ($0 as? NSPersistentStore)?.store } }
    // A history that cannot be read has no place, and the next request for it says why.
    return ((try? coordinator.currentPersistentHistoryToken(fromStores: asked)) ?? nil).map(NSPersistentHistoryToken.init)
  }
}
