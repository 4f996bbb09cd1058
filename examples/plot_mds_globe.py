"""
Can I draw a map from distances alone?
======================================

Only the distances between 48 cities along the Earth's surface are given, in km. CurvedMDS finds a
globe: where the cities are on it, up to rotations and mirror images, and how large it is, since
K = 1/R². A flat map of the same distances, by ``curvature=0.0``, has errors of almost 2,000 km.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import orthogonal_procrustes
from sklearn.metrics.pairwise import haversine_distances

from cayleyklein import CurvedMDS
from cayleyklein.plotting import MapDisplay

RADIUS = 6371.0  # km, the Earth's mean radius

CITIES = {
    "Accra": (5.6, -0.2), "Anchorage": (61.2, -149.9), "Antananarivo": (-18.9, 47.5),
    "Athens": (38.0, 23.7), "Auckland": (-36.8, 174.8), "Bangkok": (13.8, 100.5),
    "Beijing": (39.9, 116.4), "Bogotá": (4.7, -74.1), "Buenos Aires": (-34.6, -58.4),
    "Cairo": (30.0, 31.2), "Cape Town": (-33.9, 18.4), "Chicago": (41.9, -87.6),
    "Dakar": (14.7, -17.5), "Darwin": (-12.5, 130.8), "Delhi": (28.6, 77.2),
    "Denver": (39.7, -105.0), "Dubai": (25.2, 55.3), "Halifax": (44.6, -63.6),
    "Helsinki": (60.2, 24.9), "Hong Kong": (22.3, 114.2), "Honolulu": (21.3, -157.9),
    "Istanbul": (41.0, 29.0), "Jakarta": (-6.2, 106.8), "Karachi": (24.9, 67.0),
    "Kinshasa": (-4.3, 15.3), "Lagos": (6.5, 3.4), "Lima": (-12.0, -77.0),
    "Lisbon": (38.7, -9.1), "London": (51.5, -0.1), "Los Angeles": (34.1, -118.2),
    "Manila": (14.6, 121.0), "Mexico City": (19.4, -99.1), "Moscow": (55.8, 37.6),
    "Mumbai": (19.1, 72.9), "Nairobi": (-1.3, 36.8), "New York": (40.7, -74.0),
    "Novosibirsk": (55.0, 82.9), "Nuuk": (64.2, -51.7), "Papeete": (-17.5, -149.6),
    "Perth": (-32.0, 115.9), "Reykjavík": (64.1, -21.9), "Santiago": (-33.4, -70.7),
    "São Paulo": (-23.6, -46.6), "Sydney": (-33.9, 151.2), "Tokyo": (35.7, 139.7),
    "Ushuaia": (-54.8, -68.3), "Vancouver": (49.3, -123.1), "Yakutsk": (62.0, 129.7),
}  # fmt: skip
"""Latitude and longitude, in degrees."""

names = list(CITIES)
distances = RADIUS * haversine_distances(np.radians(list(CITIES.values())))
globe = CurvedMDS(metric="precomputed", random_state=0).fit(distances)
flat = CurvedMDS(metric="precomputed", curvature=0.0).fit(distances)
pairs = len(names) * (len(names) - 1) / 2
print(f"Radius of the globe: {globe.curvature_**-0.5:.0f} km, of the Earth: {RADIUS:.0f} km")
print(f"Root-mean-square error of the flat map: {np.sqrt(flat.stress_ / pairs):.0f} km")

# %%
# Distances do not say where north is. For the picture the globe is turned, as a whole, to where the
# cities are seen from above 25° N, 20° E. Cities that are too close to others have no name in it.

latitude, longitude = np.radians(list(CITIES.values())).T - np.radians([[0], [20]])
east = np.cos(latitude) * np.sin(longitude)
north, near = np.sin(latitude), np.cos(latitude) * np.cos(longitude)
tilt = np.radians(25)
seen = np.stack(
    [
        east,
        np.cos(tilt) * north - np.sin(tilt) * near,
        np.sin(tilt) * north + np.cos(tilt) * near,
    ],
    axis=1,
)
globe.sphere_ = globe.sphere_ @ orthogonal_procrustes(globe.sphere_, seen)[0]
unnamed = {"Dubai", "Halifax", "Helsinki", "Istanbul", "Lagos", "Mumbai", "Novosibirsk", "Nuuk"}
shown = ["" if name in unnamed else name for name in names]
ax = MapDisplay.from_estimator(globe, names=shown).plot().ax_
ax.set_title(f"{ax.get_title()} km$^{{-2}}$", fontsize=11)
plt.show()
