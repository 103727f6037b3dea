// Conformances to CVarArg that exist on Apple's systems but not on Linux, so that `value as CVarArg` compiles.
public import Foundation
public import ObjectModel

/// Returns a value's description as a format argument.
private func shown(_ value: Any) -> any CVarArg { NSString(string: "\(value)") }

extension UUID: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Date: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension URL: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Data: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Array: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension Set: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSNumber: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSDate: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSUUID: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSArray: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSSet: @retroactive CVarArg, @retroactive _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension ManagedObjectID: CVarArg, _CVarArgObject {
  /// The value's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
extension NSManagedObject: CVarArg, _CVarArgObject {
  /// The object's description.
  public var _cVarArgObject: any CVarArg { shown(self) }
  /// The encoding of the description.
  public var _cVarArgEncoding: [Int] { _cVarArgObject._cVarArgEncoding }
}
