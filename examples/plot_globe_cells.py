"""
Which place is the nearest one, all around the globe?
=====================================================

Longitudes and latitudes are points of a whole sphere. Distances in degrees are wrong, and cells in
the plane of the map end at the antimeridian. ``SphereVoronoi`` has the cells of the sphere itself;
``CurvedKMeans`` groups places by great circles, around Fréchet means.
"""

import matplotlib.pyplot as plt
import numpy as np

from cayleyklein import CurvedKMeans, FromChart, SphereVoronoi
from cayleyklein.geometry.sphere import to_lonlat
from cayleyklein.plotting import MapDisplay

CITIES = {
    "Accra": (-0.2, 5.6),
    "Anchorage": (-149.9, 61.2),
    "Auckland": (174.8, -36.8),
    "Beijing": (116.4, 39.9),
    "Bogotá": (-74.1, 4.7),
    "Buenos Aires": (-58.4, -34.6),
    "Cairo": (31.2, 30.0),
    "Cape Town": (18.4, -33.9),
    "Chicago": (-87.6, 41.9),
    "Delhi": (77.2, 28.6),
    "Honolulu": (-157.9, 21.3),
    "Jakarta": (106.8, -6.2),
    "Lima": (-77.0, -12.0),
    "London": (-0.1, 51.5),
    "Los Angeles": (-118.2, 34.1),
    "Moscow": (37.6, 55.8),
    "Nairobi": (36.8, -1.3),
    "New York": (-74.0, 40.7),
    "Novosibirsk": (82.9, 55.0),
    "Perth": (115.9, -32.0),
    "Reykjavík": (-21.9, 64.1),
    "São Paulo": (-46.6, -23.6),
    "Sydney": (151.2, -33.9),
    "Tokyo": (139.7, 35.7),
}
"""Longitude and latitude, in degrees."""

names, places = list(CITIES), np.array(list(CITIES.values()))
globe = FromChart("lonlat", curvature=1 / 6371.0**2).fit(places)  # distances in km
X = globe.transform(places)
groups = CurvedKMeans(5, metric=globe.metric_, random_state=0).fit(X)
for center in to_lonlat(groups.cluster_centers_).round(1):
    print(f"a group around longitude {center[0]}, latitude {center[1]}")

# %%
# Seen from above Cairo: each place has the colour of the group of the nearest city. The page of
# ``display.to_html("globe.html", cells=True)`` is turned by hand.

letters = np.array(list("ABCDE"))[groups.labels_]
display = MapDisplay.from_points(
    places, "lonlat", curvature=1.0, y=letters, names=names, center=names.index("Cairo")
)
display.plot(cells=True, s=14)

# %%
# On the map cells are cut at the antimeridian, and the cells around the poles reach the edge. This
# is the GeoJSON of the diagram, for any program that draws maps.

diagram = SphereVoronoi(places, chart="lonlat")
figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
for cell in diagram.to_geojson()["features"]:
    geometry = cell["geometry"]
    whole = geometry["type"] == "MultiPolygon"
    for rings in geometry["coordinates"] if whole else [geometry["coordinates"]]:
        color = f"C{groups.labels_[cell['properties']['point']]}"
        ax.fill(*np.array(rings[0]).T, facecolor=color, alpha=0.3)
        ax.plot(*np.array(rings[0]).T, color="0.4", linewidth=0.7)
ax.plot(*places.T, "k.", markersize=4)
ax.set(xlim=(-180, 180), ylim=(-90, 90), xlabel="longitude", ylabel="latitude", aspect="equal")
plt.show()
