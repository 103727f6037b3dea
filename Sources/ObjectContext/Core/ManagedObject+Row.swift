// ManagedObject+Row: the row that an object holds, and the one that its properties are read from.
import ObjectStore

extension ManagedObject {
  /// The row that every property is read from: the object's own, or its overlay's when that has all values; nil when there is more to do.
  @inlinable final var plainRow: UnsafeRawPointer? {
    @inline(__always) get { readWord > 0 ? UnsafeRawPointer(bitPattern: readWord) : nil }
  }

  /// Sends reads of properties the long way.
  final func hideRow() { readWord = overlay == nil ? readWord | .min : 0 }

  /// Lets reads of properties go straight to the object's own row if there is one; it has no overlay.
  @inline(__always) final func showRow() { readWord &= .max }

  /// Lets reads of properties go straight to the overlay.
  @inline(__always) final func showRow(of overlay: Overlay) { readWord = Int(bitPattern: overlay.row) }

  /// Where the row as last read or saved begins, which the object holds; nil when none is at hand.
  final var row: UnsafeRawPointer? {
    @inline(__always) get { overlay == nil ? UnsafeRawPointer(bitPattern: readWord & .max) : overlay?.below }
  }

  /// The row as last read or saved; nil when none is at hand.
  final var image: RowImage? {
    get { row.map { RowImage(heldRow: $0) } }
    set { withExtendedLifetime(newValue) { takeRow(newValue?.base) } }
  }

  /// Takes another row, which somebody holds, or none.
  final func takeRow(_ new: UnsafeRawPointer?) {
    let former = row
    if let new { RowImage.hold(new) }
    if let overlay {
      overlay.below = new
      overlayLostItsRow()
    } else {
      readWord = Int(bitPattern: new) | readWord & .min
    }
    if let former { RowImage.letGo(former) }
  }

  /// A new object takes the row that it was made for, unless it has got one meanwhile.
  @inline(__always) final func takeFirstRow(_ first: UnsafeRawPointer) {
    guard row == nil else { return }
    RowImage.hold(first)
    if let overlay { overlay.below = first } else { readWord |= Int(bitPattern: first) }
  }
}
