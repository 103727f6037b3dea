// ObjectIDSpace: the process-wide list of stores and coordinators that object IDs refer to by number.
public import Foundation
import Synchronization

/// What an object ID's number stands for: a store (by its UUID) and the compiled model that numbers its entities.
///
/// A store opened again under an equal model gets the same number, so IDs stay equal over closing and opening.
public final class ObjectIDSpace: Sendable {
  /// The number that IDs carry.
  public let number: UInt32
  /// The store's UUID; nil for the temporary IDs of a coordinator.
  public let storeIdentifier: String?
  /// The model that numbers the entities.
  public let model: CompiledModel
  private let interned = Mutex(InternedReferences())

  private init(number: UInt32, storeIdentifier: String?, model: CompiledModel) {
    self.number = number
    self.storeIdentifier = storeIdentifier
    self.model = model
  }

  private struct Registry {
    var spaces: [ObjectIDSpace] = []
    var numbers: [String: UInt32] = [:]
  }
  private static let registry = Mutex(Registry())

  /// The space of a store, or of temporary IDs under a model when `storeIdentifier` is nil; made on first use.
  public static func register(storeIdentifier: String?, model: CompiledModel) -> ObjectIDSpace {
    let key = "\(storeIdentifier ?? "")|\(model.checksum)"
    return registry.withLock { registry in
      if let number = registry.numbers[key] { return registry.spaces[Int(number)] }
      let space = ObjectIDSpace(number: UInt32(registry.spaces.count), storeIdentifier: storeIdentifier, model: model)
      registry.spaces.append(space)
      registry.numbers[key] = space.number
      return space
    }
  }

  /// The space of a number; nil when there is none.
  public static func space(_ number: UInt32) -> ObjectIDSpace? {
    registry.withLock { Int(number) < $0.spaces.count ? $0.spaces[Int(number)] : nil }
  }

  // MARK: References that are not integers

  private struct InternedReferences {
    var keys: [InternedKey: Int64] = [:]
    var texts: [Int64: String] = [:]
  }
  private struct InternedKey: Hashable {
    let root: Int
    let text: String
  }

  /// The key that stands for a store's textual reference in this process; one reference of one entity tree always gets the same key.
  ///
  /// For stores whose rows are not keyed by integers. Keys of interned references start at 2⁴⁶, so that they never meet integer references.
  public func key(forReference text: String, entityNumber: Int) -> Int64 {
    let root = model.entities[entityNumber].root
    return interned.withLock { table in
      let key = InternedKey(root: root, text: text)
      if let known = table.keys[key] { return known }
      let next = (Int64(1) << 46) + Int64(table.keys.count)
      table.keys[key] = next
      table.texts[next] = text
      return next
    }
  }

  /// The textual reference behind an interned key; nil for an integer reference.
  public func internedReference(forKey key: Int64) -> String? {
    guard key >= Int64(1) << 46 else { return nil }
    return interned.withLock { $0.texts[key] }
  }

  /// What stands behind the `p` of a URI.
  func referenceText(entityNumber: Int, key: Int64) -> String {
    guard let text = internedReference(forKey: key) else { return String(key) }
    return "_" + (text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text)
  }

  /// The ID that a URI stands for; nil when the URI is not one of this space.
  public func objectID(forURI url: URL) -> ManagedObjectID? {
    guard url.scheme == "x-cipherdata", url.host ?? "" == storeIdentifier ?? "" else { return nil }
    let parts = url.path(percentEncoded: true).split(separator: "/").map(String.init)
    guard parts.count == 2, let name = parts[0].removingPercentEncoding, let entity = model.entity(named: name) else { return nil }
    let tail = parts[1].dropFirst()
    switch parts[1].first {
    case "p":
      if tail.first == "_" {
        guard let text = tail.dropFirst().description.removingPercentEncoding else { return nil }
        return ManagedObjectID(
          space: number, entityNumber: UInt32(entity.number), key: key(forReference: text, entityNumber: entity.number))
      }
      guard let key = Int64(tail), key > 0, key < Int64(1) << 46 else { return nil }
      return ManagedObjectID(space: number, entityNumber: UInt32(entity.number), key: key)
    case "t":
      guard storeIdentifier == nil, let key = Int64(tail), key > 0 else { return nil }
      return ManagedObjectID(space: number, entityNumber: UInt32(entity.number), key: -key)
    default: return nil
    }
  }
}
