// ManagedObject+Faulting: how a fault gets its values, and an object becomes a fault again.
import ObjectModel
import ObjectStore

extension ManagedObject {
  /// Gets the object's row if it is a fault. False when the row is gone or could not be read; the object then reads as empty.
  @discardableResult
  final func fireFault(trigger: String?) -> Bool {
    guard flags.contains(.isFault) else { return !flags.contains(.isInaccessible) }
    guard let context = managedObjectContext else {
      // A fault whose context is gone stays empty.
      return image != nil
    }
    if image == nil, !context.readRow(of: self, trigger: trigger) { return false }
    flags.remove(.isFault)
    updatePlainRow()
    flags.insert(.isAwaking)
    awakeFromFetch()
    flags.remove(.isAwaking)
    return true
  }

  /// Makes the object a fault: values and changes are dropped, and read anew when they are asked for.
  final func turnIntoFault() {
    willTurnIntoFault()
    plainRow = nil
    image = nil
    overlay = nil
    toManyStates = nil
    flags.insert(.isFault)
    flags.remove(.isInaccessible)
    didTurnIntoFault()
  }
}
