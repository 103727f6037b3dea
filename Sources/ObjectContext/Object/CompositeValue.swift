@_spi(Generated) import ObjectModel
public import ObjectQuery
import ObjectStore

/// A generated struct for the values of a composite attribute. It reads and writes the elements of an object's composite directly in their
/// slots.
///
/// The elements of a composite attribute occupy consecutive slots, so access needs no intermediate dictionary.
public protocol CompositeValue: Sendable {
  /// The number of slots that the elements occupy, including the elements of nested composites.
  static var slotCount: Int { get }
  /// The names of the elements by slot; dotted paths for nested composites.
  static var partNames: [String] { get }
  /// The class table of the model that defines the composite.
  static var classTable: ManagedObjectClasses { get }
  /// Creates a value from the elements of an object.
  ///
  /// - Parameters:
  ///   - object: The object. If it is a fault, the fault fires.
  ///   - slot: The slot of the first element.
  init(of object: ManagedObject, at slot: Int)
  /// Writes the elements that differ from the object's, so that only these count as changed.
  ///
  /// - Parameters:
  ///   - object: The object.
  ///   - slot: The slot of the first element.
  func write(to object: ManagedObject, at slot: Int)
}

extension ManagedObject {
  /// Returns the value of a composite attribute; nil if no element has a value. Fires a fault.
  ///
  /// - Parameters:
  ///   - slot: The slot of the first element.
  ///   - type: The type of the value.
  package final func optionalComposite<Value: CompositeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value? {
    hasValue(in: slot..<slot + Value.slotCount) ? Value(of: self, at: slot) : nil
  }

  /// Returns the value of a required composite attribute. A required element without a value reads as in `value(_:as:)`. Fires a fault.
  package final func composite<Value: CompositeValue>(_ slot: Int, as type: Value.Type = Value.self) -> Value { Value(of: self, at: slot) }

  /// Sets a composite attribute. Nil removes the values of all elements.
  package final func setComposite<Value: CompositeValue>(_ value: Value?, at slot: Int) {
    if let value { return value.write(to: self, at: slot) }
    for slot in slot..<slot + Value.slotCount { setPartSlot(.null, at: slot) }
  }

  /// Sets an element of a composite attribute if the value differs. Generated structs call it.
  package final func setPart<Value: StoredAttributeValue>(_ value: Value?, at slot: Int) { setPartSlot(value?.slot ?? .null, at: slot) }

  /// Sets a `transformable` element of a composite attribute if its bytes differ. If the transformer fails, the element stays unchanged,
  /// and the next save throws the error.
  package final func setTransformedPart(_ value: (any Sendable)?, at slot: Int) {
    do { setPartSlot(try transformedSlot(of: value, at: slot), at: slot) } catch { reportError(error) }
  }

  private func setPartSlot(_ value: Slot, at slot: Int) {
    // A row of a batch insertion includes only the columns that are set, so set the value even if it is equal.
    if flags.contains(.isBatchRow) || (try? readSlotValue(slot)) != value { setSlotValue(value, at: slot) }
  }

  private func hasValue(in slots: Range<Int>) -> Bool {
    if flags.contains(.reportsReads) { for slot in slots { recordRead(slot) } }
    // A fired fault has a row.
    if let row = directRow ?? firedRow(slots.lowerBound) {
      return slots.contains { !RowImage.isNull(row, $0) || RowImage.isUnreadable(row, $0) }
    }
    return slots.contains { hasValue($0) }
  }
}

extension FetchComposite where Composite: CompositeValue {
  /// Returns a predicate that matches if no element has a value.
  public static func == (left: Self, right: FetchNil) -> FetchPredicate { .and(left.parts { .isNull($0, true) }) }
  /// Returns a predicate that matches if any element has a value.
  public static func != (left: Self, right: FetchNil) -> FetchPredicate { .or(left.parts { .isNull($0, false) }) }

  private func parts(_ condition: (FetchExpression) -> FetchPredicate) -> [FetchPredicate] {
    Composite.partNames.map { condition(fetchExpression.appending($0.split(separator: ".").map(String.init))) }
  }
}
