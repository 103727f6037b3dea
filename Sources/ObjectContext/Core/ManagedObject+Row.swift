import ObjectStore

extension ManagedObject {
  /// The row from which every property can be read directly: the object's own, or that of an overlay that has all values. `nil` if a read
  /// takes the slow path.
  @inlinable final var directRow: UnsafeRawPointer? {
    @inline(__always) get { readWord > 0 ? UnsafeRawPointer(bitPattern: readWord) : nil }
  }

  /// Makes property reads take the slow path.
  final func hideRow() { readWord = overlay == nil ? readWord | .min : 0 }

  /// Lets property reads access the object's own row directly. The object must not have an overlay.
  @inline(__always) final func showRow() { readWord &= .max }

  /// Lets property reads access the overlay's row directly.
  @inline(__always) final func showRow(of overlay: Overlay) { readWord = Int(bitPattern: overlay.row) }

  /// The address of the row as last read or saved, which the object retains; `nil` if it is not in memory.
  final var row: UnsafeRawPointer? {
    @inline(__always) get { overlay == nil ? UnsafeRawPointer(bitPattern: readWord & .max) : overlay?.below }
  }

  /// The row as last read or saved; `nil` if it is not in memory.
  final var image: RowImage? {
    get { row.map { RowImage(heldRow: $0) } }
    set { withExtendedLifetime(newValue) { setRow(newValue?.base) } }
  }

  /// Replaces the object's row. The caller retains the new row during the call.
  final func setRow(_ new: UnsafeRawPointer?) {
    let former = row
    if let new { RowImage.retain(new) }
    if let overlay {
      overlay.below = new
      rowWasReplaced()
    } else {
      readWord = Int(bitPattern: new) | readWord & .min
    }
    if let former { RowImage.release(former) }
  }

  /// Sets the row that a new object was created for, unless the object has loaded a row in the meantime.
  @inline(__always) final func setInitialRow(_ first: UnsafeRawPointer) {
    guard row == nil else { return }
    RowImage.retain(first)
    if let overlay { overlay.below = first } else { readWord |= Int(bitPattern: first) }
  }
}
