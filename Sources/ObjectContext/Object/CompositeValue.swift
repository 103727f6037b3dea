// CompositeValue: composite attributes as Swift structs, which generated code writes.
import ObjectModel
public import ObjectQuery
import ObjectStore

/// A struct that was generated for a kind of composite value: it reads its parts from the slots of an object and writes them there.
///
/// The parts of a composite attribute have slots of their own that follow each other; no dictionary stands between them and the struct.
public protocol CompositeValue: Sendable {
  /// How many slots the parts take, those of parts that are composites themselves included.
  static var _slotCount: Int { get }
  /// The names of the parts, by slot; dotted for parts of parts.
  static var _partNames: [String] { get }
  /// The classes of the model that the kind belongs to.
  static var _classTable: ManagedObjectClasses { get }
  /// Reads the parts.
  ///
  /// - Parameters:
  ///   - object: The object; a fault is fired.
  ///   - slot: The slot of the first part.
  init(_of object: ManagedObject, at slot: Int)
  /// Writes the parts that differ from the object's, so that only those count as changed.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - slot: The slot of the first part.
  func _write(to object: ManagedObject, at slot: Int)
}

extension ManagedObject {
  /// The value of a composite attribute; nil when no part has one. Fires a fault.
  ///
  /// - Parameter slot: The slot of the first part.
  public final func _optionalComposite<Value: CompositeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value? {
    hasValue(in: slot..<slot + Value._slotCount) ? Value(_of: self, at: slot) : nil
  }

  /// The value of a required composite attribute; a required part without a value reads as `_value(_:as:)` says. Fires a fault.
  public final func _composite<Value: CompositeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value { Value(_of: self, at: slot) }

  /// Sets a composite attribute; nil takes the values of all its parts away.
  public final func _setComposite<Value: CompositeValue>(_ value: Value?, at slot: Int) {
    if let value { return value._write(to: self, at: slot) }
    for slot in slot..<slot + Value._slotCount { setPart(.null, at: slot) }
  }

  /// Sets a part of a composite attribute if it differs; what generated structs call.
  public final func _setPart<Value: _StoredAttributeValue>(_ value: Value?, at slot: Int) { setPart(value?._slot ?? .null, at: slot) }

  /// Sets a `transformable` part of a composite attribute if its bytes differ. If its transformer fails, nothing is changed and the next save throws.
  public final func _setTransformedPart(_ value: (any Sendable)?, at slot: Int) {
    do { setPart(try transformedSlot(of: value, at: slot), at: slot) } catch { tell(error) }
  }

  private func setPart(_ value: Slot, at slot: Int) {
    // A row of a batch insertion says by what is set which columns it has values for.
    if flags.contains(.isBatchRow) || (try? readSlotValue(slot)) != value { setSlotValue(value, at: slot) }
  }

  private func hasValue(in slots: Range<Int>) -> Bool {
    if flags.contains(.tellsReads) { for slot in slots { noteRead(slot) } }
    // A fault has its row once it is fired.
    if let row = plainRow ?? firedRow(slots.lowerBound) {
      return slots.contains { !RowImage.isNull(row, $0) || RowImage.isUnreadable(row, $0) }
    }
    return slots.contains { hasValue($0) }
  }
}

extension FetchComposite where Composite: CompositeValue {
  /// Whether no part has a value.
  public static func == (left: Self, right: FetchNil) -> FetchPredicate { .and(left.parts { .isNull($0, true) }) }
  /// Whether some part has a value.
  public static func != (left: Self, right: FetchNil) -> FetchPredicate { .or(left.parts { .isNull($0, false) }) }

  private func parts(_ condition: (FetchExpression) -> FetchPredicate) -> [FetchPredicate] {
    Composite._partNames.map { condition(fetchExpression.appending($0.split(separator: ".").map(String.init))) }
  }
}
