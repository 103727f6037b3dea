public import Foundation
import Synchronization

/// The store or coordinator to which object IDs refer by number. A process-wide registry maps the numbers to the store's UUID and the
/// compiled model that numbers its entities.
///
/// A store that is reopened with an equal model keeps its number, so that IDs stay equal. Object IDs are plain values that refer to their
/// space by number, so spaces stay registered until the process ends. A space takes a few hundred bytes. Spaces of models with equal
/// checksums share one model.
public final class ObjectIDSpace: Sendable {
  /// The number that IDs contain.
  public let number: UInt32
  /// The store's UUID; nil for the temporary IDs of a coordinator.
  public let storeIdentifier: String?
  /// A model with the entity numbers of this space. Its parts that the checksum does not cover, such as validation rules, may differ from
  /// those of the model that a store is open with.
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
    /// One model for each checksum.
    var models: [String: CompiledModel] = [:]
  }
  private static let registry = Mutex(Registry())

  /// Returns the space of a store, or of the temporary IDs of a model if `storeIdentifier` is nil. Creates the space on first use.
  public static func register(storeIdentifier: String?, model: CompiledModel) -> ObjectIDSpace {
    let key = "\(storeIdentifier ?? "")|\(model.checksum)"
    return registry.withLock { registry in
      if let number = registry.numbers[key] { return registry.spaces[Int(number)] }
      let shared = registry.models[model.checksum] ?? model
      registry.models[model.checksum] = shared
      let space = ObjectIDSpace(number: UInt32(registry.spaces.count), storeIdentifier: storeIdentifier, model: shared)
      registry.spaces.append(space)
      registry.numbers[key] = space.number
      return space
    }
  }

  /// Returns the space with a number; nil if there is none.
  public static func space(_ number: UInt32) -> ObjectIDSpace? {
    registry.withLock { Int(number) < $0.spaces.count ? $0.spaces[Int(number)] : nil }
  }

  /// Returns the ID of a referenced object.
  @inline(__always) package func objectID(of reference: ObjectReference) -> ManagedObjectID {
    ManagedObjectID(space: number, entityNumber: UInt32(reference.entity), key: reference.key)
  }

  // MARK: Textual references

  private struct InternedReferences {
    var keys: [InternedKey: Int64] = [:]
    var texts: [Int64: String] = [:]
  }
  private struct InternedKey: Hashable {
    let root: Int
    let text: String
  }

  /// Returns the process-wide key of a store's textual reference. The same reference in the same entity tree always has the same key.
  ///
  /// For stores whose rows are not keyed by integers. Interned keys start at 2⁴⁶, above all integer references.
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

  /// Returns the textual reference of an interned key; nil for an integer reference.
  public func internedReference(forKey key: Int64) -> String? {
    guard key >= Int64(1) << 46 else { return nil }
    return interned.withLock { $0.texts[key] }
  }

  /// Returns the part of a URI after the `p`.
  func referenceText(entityNumber: Int, key: Int64) -> String {
    guard let text = internedReference(forKey: key) else { return String(key) }
    return "_" + (text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text)
  }

  /// Returns the ID for a URI; nil if the URI does not belong to this space.
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
