/// The destination of a to-one relationship as one integer: the entity's number in the upper 16 bits, the key in the lower 48.
///
/// 0 means no object, since 0 is never a valid key. Keys of objects that were never saved are negative.
@frozen public struct ObjectReference: Sendable, Hashable {
  /// The packed word.
  public var rawValue: Int64

  /// Creates a reference from a packed word.
  @inlinable public init(rawValue: Int64) { self.rawValue = rawValue }

  /// Packs an entity's number (below 65,536) and a key (within ±2⁴⁷).
  @inlinable public init(entity: Int, key: Int64) {
    rawValue = Int64(truncatingIfNeeded: entity) &<< 48 | (key & 0xFFFF_FFFF_FFFF)
  }

  /// The entity's number in its ``CompiledModel``.
  @inlinable public var entity: Int { Int(UInt64(bitPattern: rawValue) &>> 48) }
  /// The key; negative for an object that was never saved.
  @inlinable public var key: Int64 { (rawValue &<< 16) &>> 16 }
  /// Whether the reference is null.
  @inlinable public var isNull: Bool { rawValue == 0 }
}
